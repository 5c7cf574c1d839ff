/**
 * Client of Interlock: `Client` sends requests, `Member` runs the processors, criteria, schedules
 * and actions of workflows. Both use CloudEvents over one multiplexed gRPC stream.
 *
 * Layers, each using only those below it:
 *
 * - `client`, `member`: what applications use.
 * - `entities`, `models`, `runs`: the most common operations, in short.
 * - `generated`: every operation, its types, and the codes of errors; made by `npm run generate`.
 * - `calculation`, `tasks`, `bounds`: what a member is called with, its answers, and their bounds.
 * - `requester`, `connection`, `stream`, `answer`: requests and answers on one stream.
 * - `envelope`, `shape`, `json`: CloudEvents, and JSON that keeps its numbers.
 */
export { Api } from "./api.js";
export {
  type Caller,
  Context,
  No,
  Rejected,
  Retryable,
  type Schedule,
  type Transition,
} from "./calculation.js";
export { Client, type ClientOptions } from "./client.js";
export type { ConnectionOptions } from "./connection.js";
export {
  type ClientCredentialsOptions,
  clientCredentials,
  type TlsOptions,
  type TokenSource,
} from "./credentials.js";
export {
  type Change,
  type ChangesOptions,
  type Document,
  Entities,
  Entity,
  type LiveSearchItem,
  type Update,
  type Written,
  type WrittenEntity,
} from "./entities.js";
export * from "./errors.js";
export { ERROR_CODES } from "./generated/error-codes.js";
export { Operations, type OperationTypes } from "./generated/operations.js";
export type * from "./generated/payloads.js";
export {
  decode,
  encode,
  type Json,
  type JsonInput,
  JsonNumber,
  type JsonObject,
  type WritableObject,
} from "./json.js";
export { type Logger, silentLogger, stderrLogger } from "./logger.js";
export {
  type ActionResult,
  type CriterionResult,
  Member,
  type MemberOptions,
  type ProcessorResult,
  type ScheduleResult,
  WAITING_MAX,
} from "./member.js";
export { Models } from "./models.js";
export type { RequestOptions } from "./requester.js";
export { type FollowOptions, type RunEvent, Runs } from "./runs.js";
export { Outcome, Pending, TaskContext } from "./tasks.js";
