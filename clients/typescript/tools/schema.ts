/** The part of JSON Schema 2020-12 that the schemas of the events use. */
export interface Schema {
  $defs?: Record<string, SchemaOrAny>;
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | string[];
  format?: string;
  const?: unknown;
  enum?: unknown[];
  properties?: Record<string, SchemaOrAny>;
  required?: string[];
  additionalProperties?: SchemaOrAny;
  items?: SchemaOrAny;
  oneOf?: SchemaOrAny[];
  anyOf?: SchemaOrAny[];
}

/** `true` allows any JSON, `false` nothing. */
export type SchemaOrAny = Schema | boolean;

/** An operation, as `index.json` lists it. */
export interface Operation {
  request: string;
  responses: string[];
  method: string;
  rest: string[];
  role: string;
  streaming: boolean;
  endless: boolean;
  idempotencyKey: boolean;
}

/** The file `index.json`. */
export interface Index {
  errors: { code: string; meaning: string; retryable: boolean; status: number }[];
  events: { type: string; schema: string; sender: "client" | "server" | "both" }[];
  operations: Operation[];
}

/** The name of the definition that a reference points at; all of them are in the same file. */
export function referenced(schema: Schema): string | undefined {
  return schema.$ref?.slice("#/$defs/".length);
}

/** Whether a schema allows any JSON: there is the document of a user. */
export function isDocument(schema: SchemaOrAny): boolean {
  if (typeof schema === "boolean") return schema;
  if (schema.type === "object" && schema.properties === undefined) {
    return schema.additionalProperties === true || schema.additionalProperties === undefined;
  }
  const says = ["$ref", "type", "const", "enum", "properties", "oneOf", "anyOf"] as const;
  return says.every((keyword) => schema[keyword] === undefined);
}
