import { type CloudEvent, sizeOf } from "./envelope.js";
import { UNREAD_BYTES_MAX } from "./stream.js";

type Answers = AsyncGenerator<CloudEvent, void, undefined>;

/**
 * Reads streamed answers ahead of the program, with bounded memory. A server resets the call of an
 * answer that is not read for 30 s, and counts what is unread: so a program that takes its time for
 * each entity of a search has it read for it.
 */
export class Ahead {
  private unreadBytes = 0;
  private waiting: (() => void)[] = [];

  constructor(private readonly maxBytes = UNREAD_BYTES_MAX) {}

  /** Yields the events of an answer, which `open` asks for until its signal is aborted. */
  async *read(open: (signal: AbortSignal) => Answers, signal?: AbortSignal): Answers {
    const came: CloudEvent[] = [];
    const left = new AbortController();
    const leave = (): void => left.abort(signal?.reason);
    signal?.throwIfAborted();
    signal?.addEventListener("abort", leave, { once: true });
    let isOver = false;
    let arrived: () => void = () => undefined;
    const reading = this.readInto(came, open(left.signal), () => arrived()).finally(() => {
      isOver = true;
      arrived();
    });
    reading.catch(() => undefined);
    try {
      for (;;) {
        signal?.throwIfAborted();
        if (came.length > 0) yield this.taken(came);
        else if (isOver) return await reading;
        else {
          await new Promise<void>((resolve) => {
            arrived = resolve;
          });
        }
      }
    } finally {
      signal?.removeEventListener("abort", leave);
      left.abort();
      while (came.length > 0) this.taken(came);
    }
  }

  private async readInto(came: CloudEvent[], source: Answers, arrived: () => void): Promise<void> {
    for await (const event of source) {
      came.push(event);
      this.unreadBytes += sizeOf(event);
      arrived();
      // Each may have one: the loop over another answer may be waiting for it.
      while (came.length > 0 && this.unreadBytes > this.maxBytes) {
        await new Promise<void>((resolve) => this.waiting.push(resolve));
      }
    }
  }

  private taken(came: CloudEvent[]): CloudEvent {
    const event = came.shift() as CloudEvent;
    this.unreadBytes -= sizeOf(event);
    for (const resume of this.waiting.splice(0)) resume();
    return event;
  }
}
