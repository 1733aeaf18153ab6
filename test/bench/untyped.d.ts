// Peers that come without types, and are used in a few lines each.
declare module 'express';
declare module 'json-server';
