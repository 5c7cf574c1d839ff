/** Runs: executions of step workflows. */

import { InterlockError } from "./errors.js";
import type { Operations } from "./generated/operations.js";
import type {
  Run,
  RunHistoryEvent,
  RunStartRequest,
  RunStartResponse,
} from "./generated/payloads.js";
import type { JsonInput } from "./json.js";
import type { RequestOptions } from "./requester.js";
import { newest, resumed } from "./resume.js";

/** An event of the history of a run. */
export type RunEvent = RunHistoryEvent &
  Required<Pick<RunHistoryEvent, "eventType" | "runId" | "sequence" | "position" | "time">>;

/** Which runs to follow. */
export interface FollowOptions {
  /** A run; by default, all of them. */
  runId?: string;
  /** The runs of a definition. */
  definition?: string;
  namespace?: string;
  /** The last sequence that was received: of the run, or the position among those of all runs. */
  fromSequence?: number;
  signal?: AbortSignal;
}

/** Which runs, without how they are read. */
type Wanted = Omit<FollowOptions, "signal">;

/** The statuses of runs that have ended. */
const FINISHED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled", "timed_out"]);

/** The events after which nothing of a run happens. */
const LAST: ReadonlySet<string> = new Set([
  "workflow_completed",
  "workflow_failed",
  "workflow_cancelled",
  "workflow_timed_out",
]);

/** Says in the place of an event that there are no more of a run. */
const NO_MORE: RunHistoryEvent = { id: "", requestId: "", success: true };

/** Starts, signals, cancels and follows runs. */
export class Runs {
  constructor(private readonly operations: Operations) {}

  /**
   * Starts a run of a definition. With an `idempotencyKey` the definition starts one run, whenever
   * the start is repeated, if its document says that it has keys.
   */
  async start(
    definition: string,
    input?: JsonInput,
    options: RequestOptions & Omit<RunStartRequest, "definition" | "input"> = {},
  ): Promise<RunStartResponse> {
    const { signal: _signal, traceparent: _traceparent, ...given } = options;
    const request = { ...given, definition, ...(input !== undefined && { input }) };
    // As the key of the request it would be something else: a repeat has the same answer, not the
    // same run, and another `waitMs` is a conflict.
    const { idempotencyKey: _key, ...sent } = options;
    return await this.operations.runStart(request, sent);
  }

  /** Reads a run. */
  async get(runId: string, options?: RequestOptions): Promise<Run> {
    const { run } = await this.operations.runGet({ runId }, options);
    if (run === undefined) {
      throw new InterlockError("the answer has no run", { code: "SERVER_ERROR" });
    }
    return run;
  }

  /** Sends a run the signal that one of its steps waits for. */
  async signal(
    runId: string,
    type: string,
    payload: JsonInput = {},
    options?: RequestOptions,
  ): Promise<void> {
    await this.operations.runSignal({ runId, type, payload }, options);
  }

  /** Cancels a run. */
  async cancel(runId: string, reason?: string, options?: RequestOptions): Promise<void> {
    await this.operations.runCancel({ runId, ...(reason !== undefined && { reason }) }, options);
  }

  /**
   * Follows the events of a run until it ends, or of all runs without an end. After a lost
   * connection it resumes after the last event that was yielded.
   */
  async *follow(options: FollowOptions = {}): AsyncGenerator<RunEvent, void, undefined> {
    const { fromSequence, signal, ...wanted } = options;
    const own = signal === undefined ? {} : { signal };
    const isOne = wanted.runId !== undefined;
    let reached = fromSequence ?? (isOne ? 0 : await this.newest(wanted, own));
    if (wanted.runId !== undefined) await this.get(wanted.runId, own);
    const open = (): AsyncGenerator<RunHistoryEvent, void, undefined> =>
      this.once({ ...wanted, fromSequence: reached }, own);
    for await (const event of resumed({ open, canResume: () => true, signal })) {
      // Also how `once` says that the run has ended.
      if (event.eventType === undefined) return;
      const known = event as RunEvent;
      reached = isOne ? known.sequence : known.position;
      yield known;
      if (isOne && LAST.has(known.eventType)) return;
    }
  }

  /** The events from a sequence on, until the connection is lost or the run has ended. */
  private async *once(
    wanted: Wanted,
    options: RequestOptions,
  ): AsyncGenerator<RunHistoryEvent, void, undefined> {
    let came = false;
    for await (const event of this.operations.runHistorySubscribe(wanted, options)) {
      if (event.eventType === undefined) continue;
      came = true;
      yield event;
    }
    // A run that had ended before the sequence has no more events.
    if (came || wanted.runId === undefined) return;
    if (FINISHED.has((await this.get(wanted.runId, options)).status)) yield NO_MORE;
  }

  private async newest(wanted: Wanted, options: RequestOptions): Promise<number> {
    const type: string = "RunHistorySubscribeRequest";
    return await newest((fromSequence) =>
      this.operations.listen(type, { ...wanted, fromSequence }, options),
    );
  }

  /** Waits until a run has ended, and reads it. */
  async finished(runId: string, options: { signal?: AbortSignal } = {}): Promise<Run> {
    for await (const _ of this.follow({ runId, ...options }));
    return await this.get(runId, options);
  }
}
