// The parts of the OpenAPI document that the reference shows.

export interface ApiSchema {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly string[];
  readonly 'x-form'?: string;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly $ref?: string;
  readonly oneOf?: readonly ApiSchema[];
  readonly items?: ApiSchema;
  readonly properties?: Readonly<Record<string, ApiSchema>>;
}

export interface ApiExample {
  readonly summary?: string;
  readonly value: unknown;
}

export interface ApiParameter {
  readonly name: string;
  readonly in: 'query' | 'path' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: ApiSchema;
  readonly examples?: Readonly<Record<string, ApiExample>>;
}

export interface ApiResponse {
  readonly description: string;
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: Readonly<
    Record<string, { readonly schema: ApiSchema; readonly examples?: Readonly<Record<string, ApiExample>> }>
  >;
}

interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly parameters: readonly ApiParameter[];
  readonly responses: Readonly<Record<string, ApiResponse | { readonly $ref: string }>>;
  readonly servers?: readonly { readonly url: string }[];
}

export interface ApiDocument {
  readonly info: {
    readonly summary: string;
    readonly description: string;
    readonly version: string;
    readonly license: { readonly name: string };
  };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, ApiSchema>>;
    readonly responses: Readonly<Record<string, ApiResponse>>;
  };
}

/** An operation with what the document says elsewhere about it. */
export interface ApiOperation extends Omit<Operation, 'responses' | 'servers'> {
  readonly path: string;
  /** The address that its path is below; relative to the document. */
  readonly server: string;
  readonly responses: readonly (readonly [status: string, ApiResponse])[];
}

/** The named schemas that a body may have. */
export const schemaNames = ({ $ref, oneOf = [] }: ApiSchema): string[] =>
  $ref === undefined ? oneOf.flatMap(schemaNames) : [refName($ref)];

export const isFailure = (status: string) => status >= '400';

/** The name at the end of a `$ref`. */
export const refName = (reference: string) => reference.slice(reference.lastIndexOf('/') + 1);

export function listOperations({ paths, servers, components }: ApiDocument): ApiOperation[] {
  return Object.entries(paths).map(([path, { get }]) => ({
    ...get,
    path,
    server: (get.servers ?? servers)[0]?.url ?? '.',
    responses: Object.entries(get.responses).map(([status, response]) => [
      status,
      // What is referred to is in the document.
      '$ref' in response ? (components.responses[refName(response.$ref)] as ApiResponse) : response,
    ]),
  }));
}
