import { setTimeout as delay } from "node:timers/promises";
import { until } from "./connection.js";
import { ClientClosedError, ConnectionLostError, InterlockError } from "./errors.js";

const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 5_000;

/** How an endless answer is resumed. */
export interface Resumable<T> {
  /** Sends the request, for what follows what was yielded last. */
  open: () => AsyncGenerator<T, void, undefined>;
  /** Whether it is known after what to resume. */
  canResume: () => boolean;
  signal?: AbortSignal | undefined;
}

/** Yields an endless answer, which resumes by itself after a lost connection. */
export async function* resumed<T>(source: Resumable<T>): AsyncGenerator<T, void, undefined> {
  let delayMs = FIRST_DELAY_MS;
  for (;;) {
    try {
      for await (const item of source.open()) {
        delayMs = FIRST_DELAY_MS;
        yield item;
      }
    } catch (error) {
      if (!isPassing(error) || !source.canResume()) throw error;
    }
    await until(delay(delayMs / 2 + (Math.random() * delayMs) / 2), source.signal);
    delayMs = Math.min(LONGEST_DELAY_MS, 2 * delayMs);
  }
}

/**
 * The newest position of a feed: the refusal of a position that does not exist yet names it.
 * It also shows that the server can be reached.
 */
export async function newest(
  listen: (fromSequence: bigint) => AsyncGenerator<unknown, void, undefined>,
): Promise<number> {
  try {
    for await (const _ of listen(2n ** 63n - 1n)) break;
  } catch (error) {
    if (error instanceof InterlockError && error.properties.newest !== undefined) {
      return Number(error.properties.newest);
    }
    throw error;
  }
  throw new InterlockError("the server does not report its newest position", {
    code: "SERVER_ERROR",
  });
}

/** Whether the connection was lost after the request had been sent. */
export function wasCut(error: unknown): boolean {
  return error instanceof ConnectionLostError && !error.retryable && isPassing(error);
}

function isPassing(error: unknown): boolean {
  if (error instanceof ClientClosedError) return false;
  if (error instanceof ConnectionLostError) return true;
  return error instanceof InterlockError && error.code === "STORAGE_UNAVAILABLE";
}
