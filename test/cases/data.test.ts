// The cases about what becomes of data, in every store.
import { describe } from 'vitest';
import { storeName } from '../support/database.ts';
import { OF_DATA, OF_STORES, testTopics } from './test-topics.ts';

describe(`on ${storeName()}`, () => testTopics(storeName() === 'SQLite' ? OF_DATA : OF_STORES));
