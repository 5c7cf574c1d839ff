/** Requests in the form of the wire, sent with the operations of the client. */
import {
  type Api,
  type Condition,
  InterlockError,
  type JsonInput,
  type JsonNumber,
  type JsonObject,
} from "interlock-client";

/** A request, as the runner gives it; its numbers keep their digits. */
export interface Request {
  type: string;
  payload: JsonObject;
  key?: string;
}

/** The payload of a search. */
interface Search {
  model: { name: string; version: JsonNumber };
  condition: Condition;
  limit: JsonNumber;
}

/** Sends a request with a single answer, by the typed operation where there is one in the scenarios. */
export async function ask(api: Api, request: Request, signal?: AbortSignal): Promise<unknown> {
  const { type, payload, key } = request;
  const options = {
    ...(signal && { signal }),
    ...(key !== undefined && { idempotencyKey: key }),
  };
  const given = payload as never;
  switch (type) {
    case "EntityCreateRequest":
      return await api.operations.entityCreate(given, options);
    case "EntityGetRequest":
      return await api.operations.entityGet(given, options);
    case "EntityUpdateRequest":
      return await api.operations.entityUpdate(given, options);
    case "EntityTransitionRequest":
      return await api.operations.entityTransition(given, options);
    case "EntityDeleteRequest":
      return await api.operations.entityDelete(given, options);
    default:
      return await api.operations.call(type, payload, options);
  }
}

/** Sends a request with a streamed answer, and reads all of it. */
export async function collect(api: Api, { type, payload }: Request): Promise<unknown[]> {
  const items: unknown[] = [];
  for await (const item of api.operations.stream(type, payload)) items.push(item);
  return items;
}

/** Searches, and reads each entity that is found; how many there are. */
export async function readEach(api: Api, { payload }: Request): Promise<number> {
  const { model, condition, limit } = payload as unknown as Search;
  const spec = { name: model.name, version: model.version.toNumber() };
  let read = 0;
  for await (const { id } of api.entity.search(spec, condition, { limit: limit.toNumber() })) {
    await api.entity.get(id);
    read += 1;
  }
  return read;
}

/** What the runner is to know of an error. */
export function failure(error: unknown): { [member: string]: JsonInput } {
  if (error instanceof InterlockError) {
    return { code: error.code, message: error.reason, retryable: error.retryable };
  }
  const isTimeout = error instanceof DOMException && error.name === "TimeoutError";
  const code = isTimeout ? "CANCELLED" : "EXCEPTION";
  return { code, message: String(error), retryable: false };
}
