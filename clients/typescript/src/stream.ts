/**
 * One `startStreaming` call: any number of requests, and their answers as they come.
 *
 * What is kept in memory is bounded. Requests: a `Lane` has so many places for requests that are
 * unanswered; further ones wait in `ask`. Answers: once `UNREAD_BYTES_MAX` of them are unread, the
 * stream is paused, and by HTTP/2 flow control the server waits. Because that delays everything on
 * the stream, after `STALL_MS` in which nobody has read any, the largest unread answer is dropped.
 * Only in the transaction of a calculation can that happen: other streamed answers have calls of
 * their own.
 */
import { type ClientDuplexStream, type ServiceError, status } from "@grpc/grpc-js";
import { Answer, type AnswerOwner } from "./answer.js";
import { ATTRIBUTE, attribute, CloudEvent, envelop, sizeOf, TYPE } from "./envelope.js";
import { ClientClosedError, ConnectionLostError, errorOf, InterlockError } from "./errors.js";
import { ERROR_CODES } from "./generated/error-codes.js";
import { Lane } from "./places.js";

/** How many bytes of answers may be unread before the stream is paused. */
export const UNREAD_BYTES_MAX = 64 << 20;

/** How long that may last, in ms; less than the server waits for a slow reader, 30 s. */
export const STALL_MS = 10_000;

/** What a stream is made with. */
export interface StreamOptions {
  /** How many requests may be unanswered. */
  inFlight: number;
  /** The largest message that the server accepts. */
  maxMessageBytes: number;
  /** Called with every event that answers no request. */
  receive: (stream: Stream, event: CloudEvent) => void;
}

/** An open stream. */
export class Stream implements AnswerOwner {
  /** Why the stream has ended, once it has. */
  failure: InterlockError | undefined;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<InterlockError>;
  /** Resolves when the server has accepted the stream, rejects if it does not. */
  readonly opened: Promise<void>;
  private readonly lane: Lane;
  private readonly asked = new Map<string, Answer>();
  private readonly unreadBytes = new Map<Answer, number>();
  private unreadTotal = 0;
  private isClosing = false;
  private stall: NodeJS.Timeout | undefined;
  private resolveEnded: (failure: InterlockError) => void = () => undefined;

  constructor(
    private readonly call: ClientDuplexStream<CloudEvent, CloudEvent>,
    private readonly options: StreamOptions,
  ) {
    this.lane = new Lane(options.inFlight);
    this.ended = new Promise((resolve) => {
      this.resolveEnded = resolve;
    });
    this.opened = new Promise((resolve, reject) => {
      call.once("metadata", () => resolve());
      void this.ended.then(reject);
    });
    // Whether anybody waits for it or not.
    this.opened.catch(() => undefined);
    call.on("data", (event: CloudEvent) => this.take(event));
    call.on("error", (error: ServiceError) => this.end(failureOf(error)));
    call.on("end", () => this.end(new ConnectionLostError("the stream was closed", LOST)));
  }

  /**
   * Sends a request once there is a place for it.
   * @throws ConnectionLostError if the stream has ended; the request was not sent.
   * @throws InvalidRequestError if it is too large; it was not sent either.
   */
  async ask(event: CloudEvent, lane = this.lane, signal?: AbortSignal): Promise<Answer> {
    this.checkSize(event);
    await lane.places.take(signal);
    if (this.failure !== undefined || this.isClosing) {
      lane.places.release();
      throw this.failure === undefined ? closed() : unsent(lost(this.failure));
    }
    const answer = new Answer(this, event.id, lane, signal);
    this.asked.set(event.id, answer);
    this.call.write(event);
    return answer;
  }

  /** Sends an event that is not answered; on a stream that has ended it is lost. */
  send(event: CloudEvent): void {
    if (this.failure === undefined && !this.isClosing) this.call.write(event);
  }

  /** @throws InvalidRequestError for an event for which the server would end the stream. */
  checkSize(event: CloudEvent): void {
    checkSize(event, this.options.maxMessageBytes);
  }

  /** Sends nothing more, waits for the answers to what was sent, and ends the stream. */
  async close(timeoutMs: number): Promise<void> {
    if (this.failure !== undefined) return;
    this.isClosing = true;
    this.call.end();
    const timer = setTimeout(() => this.abandon(), timeoutMs);
    await this.ended;
    clearTimeout(timer);
  }

  /** Ends the stream at once. */
  abandon(): void {
    this.call.cancel();
    this.end(new ConnectionLostError("the stream was closed", LOST));
  }

  unread(answer: Answer, bytes: number): void {
    this.unreadTotal += bytes;
    const left = (this.unreadBytes.get(answer) ?? 0) + bytes;
    if (left === 0) this.unreadBytes.delete(answer);
    else this.unreadBytes.set(answer, left);
    if (this.unreadTotal > UNREAD_BYTES_MAX) {
      this.call.pause();
      if (bytes < 0) clearTimeout(this.stall);
      if (bytes < 0 || this.stall === undefined) {
        this.stall = setTimeout(() => this.dropLargest(), STALL_MS);
      }
    } else if (this.stall !== undefined) {
      clearTimeout(this.stall);
      this.stall = undefined;
      this.call.resume();
    }
  }

  cancel(answer: Answer): void {
    // It is still answered, and has its place until then.
    if (this.asked.has(answer.id)) this.send(envelop(TYPE.cancel, { requestId: answer.id }));
  }

  private dropLargest(): void {
    const [largest] = [...this.unreadBytes].sort(([, one], [, other]) => other - one)[0] ?? [];
    const text = `it was not read for ${STALL_MS / 1000} s`;
    largest?.fail(new InterlockError(text, { code: "ANSWER_NOT_READ" }));
  }

  private take(event: CloudEvent): void {
    const request = attribute(event, ATTRIBUTE.requestId);
    if (request === undefined) {
      this.options.receive(this, event);
      return;
    }
    const answer = this.asked.get(request);
    if (answer === undefined) return;
    const isLast = event.attributes[ATTRIBUTE.sequence] === undefined;
    if (isLast) {
      this.asked.delete(request);
      answer.lane.places.release();
    }
    answer.put(event, isLast);
  }

  private end(failure: InterlockError): void {
    if (this.failure !== undefined) return;
    this.failure = failure;
    clearTimeout(this.stall);
    const asked = [...this.asked.values()];
    this.asked.clear();
    for (const answer of asked) {
      answer.lane.places.release();
      answer.fail(lost(failure));
    }
    this.resolveEnded(failure);
  }
}

/** @throws InvalidRequestError for an event for which the server would end the call. */
export function checkSize(event: CloudEvent, maxBytes: number): void {
  // To measure takes as long as to send.
  if (sizeOf(event) <= maxBytes / 2) return;
  const size = CloudEvent.encode(event).finish().length;
  if (size > maxBytes) {
    const text = `the ${event.type} has ${size} bytes; ${maxBytes} are allowed`;
    throw errorOf(text, { code: "MESSAGE_TOO_LARGE" });
  }
}

const LOST = { code: "CONNECTION_LOST" };

/** What a server does not change its mind about; other ends of a stream are worth a retry. */
const LASTING: ReadonlyMap<status, string> = new Map([
  [status.UNAUTHENTICATED, "UNAUTHORIZED"],
  [status.PERMISSION_DENIED, "FORBIDDEN"],
  [status.INVALID_ARGUMENT, "BAD_REQUEST"],
  [status.UNIMPLEMENTED, "NOT_IMPLEMENTED"],
]);

/** Says what it means that a call has ended. */
export function failureOf(error: ServiceError): InterlockError {
  const code = LASTING.get(error.code);
  const details = error.details === "" ? "the server gave no reason" : error.details;
  if (code !== undefined) return errorOf(details, { code, cause: error });
  const text = `${status[error.code] ?? error.code}: ${details}`;
  return new ConnectionLostError(text, { ...LOST, cause: error });
}

/**
 * Says what it means that a streamed answer has failed on the way. Then the status has the failure
 * as its text; its code is the first word, as in any failure.
 */
export function failureOfAnswer(error: ServiceError): InterlockError {
  const [, code = "", reason = ""] = /^(\w+): (.*)$/s.exec(error.details) ?? [];
  if (!Object.hasOwn(ERROR_CODES, code)) return failureOf(error);
  const { retryable } = ERROR_CODES[code as keyof typeof ERROR_CODES];
  return errorOf(reason, { code, retryable, cause: error });
}

/**
 * What the end of an accepted call means for what was asked on it. That the server has revoked the
 * token of the call says nothing about the next call, for which there may be another.
 */
export function lost(failure: InterlockError): InterlockError {
  if (failure.code !== "UNAUTHORIZED") return failure;
  return new ConnectionLostError(failure.reason, { ...LOST, cause: failure });
}

function closed(): InterlockError {
  return new ClientClosedError("the client was closed", { code: "CLIENT_CLOSED" });
}

/** The same failure, for a request that was not sent. */
function unsent(failure: InterlockError): InterlockError {
  if (!(failure instanceof ConnectionLostError)) return failure;
  const text = `${failure.reason}; the request was not sent`;
  return new ConnectionLostError(text, { ...LOST, retryable: true, cause: failure });
}
