import { documented } from "./payloads.js";
import type { Index, Operation } from "./schema.js";

/** The module with one method for each operation. */
export function operationsModule(index: Index, descriptions: ReadonlyMap<string, string>): string {
  const types = new Set(index.operations.flatMap((one) => [one.request, ...one.responses]));
  return [
    'import { Requester, type RequestOptions } from "../requester.js";',
    `import type {\n${[...types]
      .sort()
      .map((name) => `  ${name},`)
      .join("\n")}\n} from "./payloads.js";\n`,
    requests(index.operations),
    "/** Every operation of the server, as a method with the types of its request and answer. */",
    "export class Operations extends Requester {",
    index.operations.map((one) => method(one, descriptions.get(one.request))).join("\n\n"),
    "}\n",
  ].join("\n");
}

/** `entityCreate` for `EntityCreateRequest`. */
export function methodName(request: string): string {
  const name = request.slice(0, -"Request".length);
  return name.charAt(0).toLowerCase() + name.slice(1);
}

function requests(operations: Operation[]): string {
  const rows = operations.map(
    (one) =>
      `  ${one.request}: { request: ${one.request}; response: ${one.responses.join(" | ")} };`,
  );
  return [
    "/** The types of the request and of the answer of each operation. */",
    `export interface OperationTypes {\n${rows.join("\n")}\n}\n`,
  ].join("\n");
}

function method(one: Operation, description: string | undefined): string {
  const notes = [
    description ?? `Sends a \`${one.request}\`.`,
    one.rest.length > 0 ? `Over REST: ${one.rest.map((path) => `\`${path}\``).join(", ")}.` : "",
    one.role !== "" ? `Needs the role \`${one.role}\`.` : "",
    one.endless ? "It never ends by itself, and does not resume." : "",
  ].filter((note) => note !== "");
  const response = one.responses.join(" | ");
  const how = one.endless ? "listen" : one.streaming ? "stream" : "call";
  const returned =
    how === "call" ? `Promise<${response}>` : `AsyncGenerator<${response}, void, undefined>`;
  return [
    documented(notes.join("\n"), "  ").trimEnd(),
    `  ${methodName(one.request)}(request: ${one.request}, options?: RequestOptions): ${returned} {`,
    `    return this.${how}("${one.request}", request, options);`,
    "  }",
  ].join("\n");
}

/** The module with the codes of errors. */
export function errorsModule(index: Index): string {
  const rows = index.errors
    .toSorted((one, other) => (one.code < other.code ? -1 : 1))
    .map(
      (one) =>
        `  ${one.code}: { status: ${one.status}, retryable: ${one.retryable}, meaning: ${JSON.stringify(one.meaning)} },`,
    );
  return [
    "/** The codes of errors: their HTTP status, whether a retry may succeed, and what to do. */",
    `export const ERROR_CODES = {\n${rows.join("\n")}\n} as const;\n`,
  ].join("\n");
}
