// Remedies for checks of pictures, as lines of configuration for each proxy.
import type { Remedy } from './check.ts';

/** The proxy is not to blame for these. */
const DATA = `# missing files: vitrine media check;  another public address: set MEDIA_URL, then vitrine media relink`;

export const PICTURE_REMEDIES = {
  pictures: {
    nginx: `# the location for /media/ of vitrine print nginx, or none, so that Vitrine answers
# remove what matches pictures before it: location ~* \\.(png|jpg|…)$ { … }, expires …;
${DATA}`,
    caddy: `# pass /media/ on like everything else; remove: file_server, header @static Cache-Control …
${DATA}`,
    haproxy: `# pass /media/ on like everything else; remove: http-response set-header Cache-Control …
${DATA}`,
    varnish: `# in vcl_recv
if (req.url ~ "^/media/") { return (pass); }
${DATA}`,
  },
} satisfies Record<string, Remedy>;
