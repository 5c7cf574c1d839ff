import type { CloudEvent } from "./envelope.js";
import { sizeOf } from "./envelope.js";
import type { InterlockError } from "./errors.js";
import type { Lane } from "./places.js";

/** What an answer needs of its stream. */
export interface AnswerOwner {
  /** Notes that so many more bytes of an answer are unread, or fewer. */
  unread(answer: Answer, bytes: number): void;
  /** Cancels the request on the server. */
  cancel(answer: Answer): void;
}

/** The events that answer one request, in their order. */
export class Answer {
  private readonly events: CloudEvent[] = [];
  private isComplete = false;
  private isLeft = false;
  private failure: unknown;
  private wake: (() => void) | undefined;

  constructor(
    private readonly owner: AnswerOwner,
    /** The envelope id of the request. */
    readonly id: string,
    readonly lane: Lane,
    private readonly signal?: AbortSignal,
  ) {
    signal?.addEventListener("abort", this.onAbort, { once: true });
  }

  /**
   * Waits for the next event; undefined after the last.
   * @throws what the answer failed with, or the reason of the signal.
   */
  async next(): Promise<CloudEvent | undefined> {
    while (this.events.length === 0) {
      if (this.failure !== undefined) throw this.failure;
      if (this.isComplete) return undefined;
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    const event = this.events.shift();
    if (event !== undefined) this.owner.unread(this, -sizeOf(event));
    return event;
  }

  /** Adds an event that came. */
  put(event: CloudEvent, isLast: boolean): void {
    this.isComplete ||= isLast;
    if (isLast) this.signal?.removeEventListener("abort", this.onAbort);
    if (this.isLeft) return;
    this.events.push(event);
    this.owner.unread(this, sizeOf(event));
    this.wake?.();
  }

  /** Ends the answer; unread events are dropped. */
  fail(failure: InterlockError): void {
    this.end(failure);
  }

  /** Says that nobody reads the answer any more, which cancels a request that is not complete. */
  leave(): void {
    if (this.isLeft) return;
    this.isLeft = true;
    this.signal?.removeEventListener("abort", this.onAbort);
    for (const event of this.events.splice(0)) this.owner.unread(this, -sizeOf(event));
    if (!this.isComplete) this.owner.cancel(this);
  }

  private readonly onAbort = (): void => this.end(this.signal?.reason);

  private end(failure: unknown): void {
    this.failure ??= failure;
    this.leave();
    this.wake?.();
  }
}
