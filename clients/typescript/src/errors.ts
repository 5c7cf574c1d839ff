/**
 * The failures of requests.
 *
 * Every failure is an `InterlockError` with a `code`. Codes with the same remedy share a class.
 */
import { ERROR_CODES } from "./generated/error-codes.js";

/** The codes that servers use, and those of this client; servers may add others. */
export type ErrorCode = keyof typeof ERROR_CODES | ClientCode;

/** The codes of failures that this client itself finds. */
export type ClientCode =
  | "CONNECTION_LOST"
  | "CLIENT_CLOSED"
  | "MESSAGE_TOO_LARGE"
  | "ANSWER_NOT_READ"
  | "SERVER_NOT_UNDERSTOOD"
  | "INVALID_OPTIONS"
  | "UNKNOWN";

/** What the codes of this client mean and what to do about each. */
export const CLIENT_CODES: Readonly<Record<ClientCode, string>> = {
  CONNECTION_LOST:
    "there is no connection, or it ended before the answer; it is retryable if the request was certainly not sent",
  CLIENT_CLOSED: "the client or the member was closed; make another one",
  MESSAGE_TOO_LARGE: "the server would not accept a message of this size; send less",
  ANSWER_NOT_READ:
    "the program did not read a streamed answer within a transaction for too long while others waited for the stream; send no requests until it is read, or ask for less at once",
  SERVER_NOT_UNDERSTOOD:
    "the server is of a version that this client does not understand; use the client of that version",
  INVALID_OPTIONS:
    "an address, a certificate, metadata or another setting of the client cannot be used; correct it",
  UNKNOWN: "the server gave no code; look into its log",
};

/** What is known about a failure beside its text. */
export interface ErrorDetails {
  code?: ErrorCode | (string & {});
  retryable?: boolean;
  properties?: Readonly<Record<string, unknown>>;
  warnings?: readonly string[];
  cause?: unknown;
}

/** A request failed. `message` is the whole text, `<CODE>: <reason>`. */
export class InterlockError extends Error {
  /** The code: `ENTITY_NOT_FOUND`, `CONFLICT`, … */
  readonly code: ErrorCode | (string & {});
  /** The text without the code. */
  readonly reason: string;
  /** Whether the same request may succeed if it is repeated. */
  readonly retryable: boolean;
  /** Further details, depending on the code: `entityId`, `fieldPath`, `retryAfterMs`, … */
  readonly properties: Readonly<Record<string, unknown>>;
  /** The warnings of the server and of compute members before it failed. */
  readonly warnings: readonly string[];

  constructor(reason: string, details: ErrorDetails = {}) {
    const code = details.code ?? "UNKNOWN";
    super(`${code}: ${reason}`, { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.reason = reason;
    this.retryable = details.retryable ?? false;
    this.properties = details.properties ?? {};
    this.warnings = details.warnings ?? [];
  }

  /** What the code means and what to do about it; undefined for a code that is not known here. */
  get remedy(): string | undefined {
    if (Object.hasOwn(CLIENT_CODES, this.code)) return CLIENT_CODES[this.code as ClientCode];
    return Object.hasOwn(ERROR_CODES, this.code)
      ? ERROR_CODES[this.code as keyof typeof ERROR_CODES].meaning
      : undefined;
  }
}

/** What the request names does not exist, or belongs to another tenant. */
export class NotFoundError extends InterlockError {}

/** Another transaction was first: read again, then write again. */
export class ConflictError extends InterlockError {}

/** The model is not in the state that the request needs. */
export class ModelStateError extends InterlockError {}

/** The request itself is wrong; a repeat does not help. */
export class InvalidRequestError extends InterlockError {}

/** A criterion, a processor or a limit rejected it; nothing was written. */
export class WorkflowFailedError extends InterlockError {}

/** No compute member executed the call; nothing was written. */
export class ComputeUnavailableError extends InterlockError {}

/** The caller is not authenticated, or not allowed to do this. */
export class AccessError extends InterlockError {}

/** The request was cancelled on the server before it was done. */
export class CancelledError extends InterlockError {}

/** Too many requests; `properties.retryAfterMs` is how long to wait, if it is known. */
export class LimitError extends InterlockError {}

/** There is no connection, or it ended before the answer. If `retryable`, the request was not sent. */
export class ConnectionLostError extends InterlockError {}

/** The client was closed. */
export class ClientClosedError extends ConnectionLostError {}

/** The server is of a version that this client does not understand: use the client of that one. */
export class ServerNotUnderstoodError extends InterlockError {}

/** The client was set up wrongly, for instance with an address without a token endpoint. */
export class InvalidOptionsError extends InterlockError {}

type ErrorClass = new (reason: string, details?: ErrorDetails) => InterlockError;

const CLASSES: Readonly<Record<string, ErrorClass>> = {
  CONFLICT: ConflictError,
  ENTITY_MODIFIED: ConflictError,
  MODEL_NOT_LOCKED: ModelStateError,
  MODEL_ALREADY_LOCKED: ModelStateError,
  MODEL_ALREADY_UNLOCKED: ModelStateError,
  MODEL_HAS_ENTITIES: ModelStateError,
  WORKFLOW_FAILED: WorkflowFailedError,
  NO_COMPUTE_MEMBER_FOR_TAG: ComputeUnavailableError,
  COMPUTE_MEMBER_DISCONNECTED: ComputeUnavailableError,
  DISPATCH_TIMEOUT: ComputeUnavailableError,
  DISPATCH_FORWARD_FAILED: ComputeUnavailableError,
  UNAUTHORIZED: AccessError,
  FORBIDDEN: AccessError,
  CANCELLED: CancelledError,
  TOO_MANY_REQUESTS: LimitError,
  TENANT_LIMIT_EXCEEDED: LimitError,
  CONNECTION_LOST: ConnectionLostError,
  // Its status is that of what does not exist.
  FEATURE_DISABLED: InterlockError,
  CLIENT_CLOSED: ClientClosedError,
  MESSAGE_TOO_LARGE: InvalidRequestError,
  SERVER_NOT_UNDERSTOOD: ServerNotUnderstoodError,
  INVALID_OPTIONS: InvalidOptionsError,
};

/** Makes the error of a code. */
export function errorOf(reason: string, details: ErrorDetails & { code: string }): InterlockError {
  const { code } = details;
  const kind = Object.hasOwn(CLASSES, code) ? CLASSES[code] : undefined;
  return new (kind ?? classByStatus(code))(reason, details);
}

/** The class of a code whose status says it. */
function classByStatus(code: string): ErrorClass {
  const status: number | undefined = Object.hasOwn(ERROR_CODES, code)
    ? ERROR_CODES[code as keyof typeof ERROR_CODES].status
    : undefined;
  if (status !== undefined && [400, 413, 415, 422, 428].includes(status))
    return InvalidRequestError;
  // Codes of newer servers, too.
  return code.endsWith("NOT_FOUND") ? NotFoundError : InterlockError;
}

/** Makes the error that the `error` and `warnings` members of an answer describe. */
export function errorOfAnswer(error: unknown, warnings: unknown): InterlockError {
  const given = (error ?? {}) as Record<string, unknown>;
  const message = typeof given.message === "string" ? given.message : "";
  const colon = message.indexOf(":");
  const code = colon > 0 ? message.slice(0, colon) : "UNKNOWN";
  const reason = colon > 0 ? message.slice(colon + 1).trim() : message;
  return errorOf(reason === "" ? "the server gave no reason" : reason, {
    code,
    retryable: given.retryable === true,
    properties: (given.properties ?? {}) as Record<string, unknown>,
    warnings: Array.isArray(warnings) ? (warnings as string[]) : [],
  });
}
