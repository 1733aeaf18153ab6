// @ts-check
// Types for the parts of an OpenAPI document that the page shows.

/** @typedef {{ type?: string, description?: string, enum?: string[], 'x-form'?: string, maxItems?: number, minLength?: number,
 *   maxLength?: number, $ref?: string, oneOf?: Schema[], items?: Schema, properties?: Record<string, Schema> }} Schema */
/** @typedef {{ summary?: string, value: unknown }} Example */
/** @typedef {{ name: string, in: 'query' | 'path' | 'header', required?: boolean, description?: string, schema: Schema,
 *   examples?: Record<string, Example> }} Parameter */
/** @typedef {{ description: string, headers?: Record<string, { description?: string }>,
 *   content?: Record<string, { schema: Schema, examples?: Record<string, Example> }> }} Response */
/** @typedef {{ operationId: string, summary: string, description: string, tags: string[], parameters: Parameter[],
 *   responses: Record<string, Response>, path: string, servers: Array<{ url: string }> }} Operation */
/** @typedef {{ info: { title: string, summary: string, description: string, version: string, license: { name: string } },
 *   servers: Array<{ url: string }>, tags: Array<{ name: string, description: string }>,
 *   paths: Record<string, { get: Operation }>, components: { schemas: Record<string, Schema>, responses?: Record<string, Response> } }} Document */

/** The schema name at the end of a `$ref`. @param {string} reference */
export const nameIn = (reference) => reference.slice(reference.lastIndexOf('/') + 1);

/** The document with each operation's responses in their place. @param {Document} api @returns {Document} */
export function withResponses(api) {
  const { responses: shared = {} } = api.components;
  for (const { get } of Object.values(api.paths))
    for (const [status, response] of Object.entries(get.responses))
      if ('$ref' in response) get.responses[status] = shared[nameIn(String(response.$ref))] ?? response;
  return api;
}
