/** A compute member: runs the processors, criteria, schedules and actions of workflows. */
import { Api } from "./api.js";
import { bounded, WARNING_BYTES_MAX } from "./bounds.js";
import type { Schedule } from "./calculation.js";
import {
  Calculation,
  type Context,
  type Kind,
  type No,
  Rejected,
  Retryable,
  refusal,
} from "./calculation.js";
import { atLeastOne, Connection, type ConnectionOptions, LONGEST_TIMER_MS } from "./connection.js";
import type { Entity } from "./entities.js";
import { answerOf, type CloudEvent, checkTexts, envelop, payloadOf, TYPE } from "./envelope.js";
import { ConnectionLostError, InterlockError } from "./errors.js";
import { GiveUp } from "./give-up.js";
import type { Json, JsonInput, JsonObject, WritableObject } from "./json.js";
import { Lane, Places } from "./places.js";
import type { Stream } from "./stream.js";
import { type Outcome, type Pending, TaskCall, type TaskContext } from "./tasks.js";
import { traced } from "./tracing.js";

/** How a member connects and what it takes. */
export interface MemberOptions extends ConnectionOptions {
  /** It is called for what requires no other tags. */
  tags?: readonly string[];
  /** The namespace of the actions that it executes. */
  namespace?: string;
  /** What an invocation of an action may require besides. */
  labels?: Readonly<Record<string, string>>;
  /**
   * How many calculations run at once, and how many actions besides; further ones wait. 64 by
   * default. One that a running one has caused in its own transaction runs besides. When
   * `WAITING_MAX` more than those that may run wait, further ones are rejected as retryable.
   */
  concurrency?: number;
}

type Awaitable<T> = T | Promise<T>;

/** What a processor returns: the whole new document, or undefined to leave it as it is. */
// biome-ignore lint/suspicious/noConfusingVoidType: a processor need not return anything.
export type ProcessorResult = Awaitable<WritableObject | undefined | void>;
/** What a criterion returns: whether it holds, or `No` with the reason. */
export type CriterionResult = Awaitable<boolean | No>;
/** What a schedule returns. */
export type ScheduleResult = Awaitable<Schedule>;
type Output = WritableObject | JsonInput;

/** What an action returns: its output, an `Outcome` of another name, or `Pending`. */
// biome-ignore lint/suspicious/noConfusingVoidType: an action need not return anything.
export type ActionResult = Awaitable<Output | Outcome | Pending | undefined | void>;

type Handler = (call: Calculation | TaskCall) => unknown;

/**
 * How many calls may wait, besides as many calculations and actions as may run at once; further
 * ones are rejected as retryable.
 */
export const WAITING_MAX = 1024;

const STOP_TIMEOUT_MS = 30_000;

/** How long a member that stops waits for the server to know that. */
const DRAIN_TIMEOUT_MS = 2_000;

const STOPPING = new Retryable("the member is stopping", { code: "MEMBER_STOPPING" });

const CANCELLED = new Rejected("the call was cancelled; it may have been done", {
  code: "CANCELLED",
});

/**
 * Serves the calculations of one tenant, over one stream, until it is stopped.
 *
 * ```ts
 * const member = new Member("localhost:9090", { tags: ["pricing"] });
 * member.processor("price", (entity) => ({ ...entity.data, price: 3 }));
 * await member.run();
 * ```
 *
 * When the stream is lost, what is running is given up, because its transactions are gone, and the
 * member joins again, however long that takes.
 */
export class Member implements AsyncDisposable {
  /** All operations, on the member's stream but outside its transactions. */
  readonly client: Api;
  private readonly connection: Connection;
  private readonly handlers = new Map<string, Handler>();
  private readonly workflowTags = new Set<string>();
  private readonly working = new Map<Calculation | TaskCall, Stream>();
  private readonly transactions = new Map<string, number>();
  private readonly places: Places;
  // An action may cause calculations in its transaction, so it must not take their places.
  private readonly taskPlaces: Places;
  /** How many of both may run or wait. */
  private readonly workMax: number;
  private readonly stopping = new AbortController();
  private stopped: Promise<void> | undefined;
  private staying: Promise<void> | undefined;
  private joined: { stream: Stream; memberId: string } | undefined;
  private greeting: ((event: CloudEvent) => void) | undefined;
  private idle: (() => void) | undefined;

  /** Prepares; nothing is connected yet. `target` is the server's gRPC port, as `host:port`. */
  constructor(
    target = "localhost:9090",
    private readonly options: MemberOptions = {},
  ) {
    const concurrency = options.concurrency ?? 64;
    atLeastOne("concurrency", concurrency);
    this.places = new Places(concurrency);
    this.taskPlaces = new Places(concurrency);
    this.workMax = WAITING_MAX + 2 * concurrency;
    this.connection = new Connection(target, options, {
      greet: (stream) => this.join(stream),
      receive: (stream, event) => this.receive(stream, event),
    });
    this.client = new Api(this.connection);
  }

  /**
   * Registers the processor of a name. Whatever it throws fails the transition; see `Rejected` and
   * `Retryable`.
   */
  processor<T = JsonObject>(
    name: string,
    handler: (entity: Entity<T>, context: Context) => ProcessorResult,
  ): this {
    return this.attached("processor", name, handler);
  }

  /** Registers a processor to which the workflow does not attach the entity. */
  detachedProcessor(name: string, handler: (context: Context) => ProcessorResult): this {
    return this.detached("processor", name, handler);
  }

  /** Registers the function criterion of a name. Throwing is no decision: it fails the request. */
  criterion<T = JsonObject>(
    name: string,
    handler: (entity: Entity<T>, context: Context) => CriterionResult,
  ): this {
    return this.attached("criterion", name, handler);
  }

  /** Registers a criterion to which the workflow does not attach the entity. */
  detachedCriterion(name: string, handler: (context: Context) => CriterionResult): this {
    return this.detached("criterion", name, handler);
  }

  /** Registers the function that computes when a scheduled transition is due. */
  schedule<T = JsonObject>(
    name: string,
    handler: (entity: Entity<T>, context: Context) => ScheduleResult,
  ): this {
    return this.attached("schedule", name, handler);
  }

  /** Registers a schedule to which the workflow does not attach the entity. */
  detachedSchedule(name: string, handler: (context: Context) => ScheduleResult): this {
    return this.detached("schedule", name, handler);
  }

  /** Registers the action of a name, for step workflows; before the member joins. */
  action<I = Json>(name: string, handler: (input: I, context: TaskContext) => ActionResult): this {
    return this.register("action", name, (call) => {
      const task = call as TaskCall;
      return handler(task.input as I, task.context);
    });
  }

  /**
   * Registers the function that does the items of managers whose worker names that workflow; before
   * the member joins. It is given the payload of the item as its input, and is otherwise as an action.
   * The member needs no tag of its own for it.
   */
  workflow<I = Json>(
    code: string,
    handler: (input: I, context: TaskContext) => ActionResult,
  ): this {
    this.workflowTags.add(`workflow:${code}`);
    return this.action(code, handler);
  }

  /**
   * Joins, and serves in the background until `stop`.
   * @throws ConnectionLostError if the server cannot be reached within the connect timeout.
   * @throws AccessError if the server does not take this caller as a member.
   */
  async start(): Promise<void> {
    await this.connection.connect();
    await this.connection.stream();
    this.stay();
  }

  /**
   * Serves until `stop` is called, the signal is aborted, or the process receives SIGTERM or SIGINT;
   * a second signal ends the process at once.
   * While the server cannot be reached this keeps trying.
   * @throws AccessError if the server does not take this caller as a member.
   */
  async run(options: { signal?: AbortSignal } = {}): Promise<void> {
    const stop = (): void => this.stopping.abort();
    const signals = ["SIGTERM", "SIGINT"] as const;
    const stopBySignal = (): void => {
      // A second signal has its usual effect.
      for (const name of signals) process.removeListener(name, stopBySignal);
      stop();
    };
    for (const name of signals) process.on(name, stopBySignal);
    options.signal?.addEventListener("abort", stop, { once: true });
    if (options.signal?.aborted === true) stop();
    const asked = new Promise<void>((resolve) => {
      if (this.stopping.signal.aborted) resolve();
      this.stopping.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    try {
      await Promise.race([this.stay(), asked]);
    } finally {
      for (const name of signals) process.removeListener(name, stopBySignal);
      options.signal?.removeEventListener("abort", stop);
      await this.stop();
    }
  }

  /**
   * Finishes running calculations, for 30 s or `timeoutMs` at most, and disconnects. First the server is told to
   * send no more calls, so that it asks other members. A call that comes all the same is not begun,
   * but answered as retryable.
   */
  async stop(options: { timeoutMs?: number } = {}): Promise<void> {
    this.stopping.abort();
    this.stopped ??= this.drain(options.timeoutMs ?? STOP_TIMEOUT_MS);
    await this.stopped;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  private async drain(timeoutMs: number): Promise<void> {
    const leaving = this.leave(Math.min(timeoutMs, DRAIN_TIMEOUT_MS));
    if (this.working.size > 0) {
      await new Promise<void>((resolve) => {
        const isEndless = timeoutMs === Number.POSITIVE_INFINITY;
        const limitMs = Math.min(timeoutMs, LONGEST_TIMER_MS);
        const timer = isEndless ? undefined : setTimeout(resolve, limitMs);
        this.idle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    await leaving;
    this.giveUp();
    await this.connection.close();
    await this.staying?.catch(() => undefined);
  }

  /** Tells the server to send no more calls; calls are refused even if it does not know. */
  private async leave(timeoutMs: number): Promise<void> {
    if (this.joined === undefined) return;
    const { stream, memberId: workerId } = this.joined;
    const drain = envelop(TYPE.drain, { workerId });
    const late = AbortSignal.timeout(timeoutMs);
    try {
      // Neither requests of the program nor those of calculations delay it.
      const answer = await stream.ask(drain, new Lane(1), late);
      await answer.next();
    } catch {
      // The stream has ended, or the server is busy.
    }
  }

  private stay(): Promise<void> {
    this.staying ??= this.stayJoined();
    this.staying.catch(() => undefined);
    return this.staying;
  }

  private async stayJoined(): Promise<void> {
    while (!this.stopping.signal.aborted) {
      try {
        const stream = await this.connection.streamEventually();
        await stream.ended;
        this.giveUp(stream);
      } catch (error) {
        if (this.stopping.signal.aborted) return;
        this.connection.logger.error("the member cannot join", { error });
        throw error;
      }
    }
  }

  /** Gives up the calls of a stream, or all. */
  private giveUp(stream?: Stream): void {
    const reason = new ConnectionLostError("the stream has ended", { code: "CONNECTION_LOST" });
    for (const [call, its] of this.working) {
      if (stream === undefined || its === stream) call.giveUp.abort(reason);
    }
  }

  private async join(stream: Stream): Promise<void> {
    const greeted = new Promise<CloudEvent>((resolve) => {
      this.greeting = resolve;
    });
    stream.send(envelop(TYPE.join, this.announced()));
    const ended = stream.ended.then((failure) => Promise.reject(failure));
    const { memberId } = answerOf(await Promise.race([greeted, ended])) as { memberId: string };
    this.joined = { stream, memberId };
    const fields = { target: this.connection.target, memberId };
    this.connection.logger.info("joined as a member", fields);
  }

  /** What the server has to know of a member. */
  private announced(): object {
    const { namespace, labels, concurrency = 64 } = this.options;
    const tags = [...new Set([...(this.options.tags ?? []), ...this.workflowTags])];
    const prefix = "action ";
    const actions = [...this.handlers.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => key.slice(prefix.length));
    return actions.length === 0
      ? { tags }
      : { tags, actions, maxConcurrency: concurrency, namespace, labels };
  }

  private receive(stream: Stream, event: CloudEvent): void {
    try {
      if (event.type === TYPE.keepAlive) this.acknowledge(stream, event);
      else if (event.type === TYPE.greeting) this.greeting?.(event);
      else if (Calculation.isAskedBy(event)) this.begin(stream, event);
      else if (event.type === TYPE.task) this.beginTask(stream, event);
      else if (event.type === TYPE.taskCancel) this.cancelTask(event);
    } catch (error) {
      // One invalid event is no reason to end the stream.
      const fields = { type: event.type, error };
      this.connection.logger.error("an event of the server could not be read", fields);
      const isCall = Calculation.isAskedBy(event) || event.type === TYPE.task;
      const answer = isCall ? refusal(event, error) : undefined;
      if (answer !== undefined) stream.send(answer);
    }
  }

  private acknowledge(stream: Stream, probe: CloudEvent): void {
    const sourceEventId = payloadOf(probe).id;
    stream.send(envelop(TYPE.acknowledgement, { sourceEventId, success: true }));
  }

  private begin(stream: Stream, event: CloudEvent): void {
    const calculation = new Calculation(event, stream, new GiveUp());
    const { transactionId } = calculation.context;
    // A running calculation waits for those it has caused in its transaction: were they to wait for
    // its place, or to be left when the member stops, neither would ever end. Of an action the
    // transaction is not known, so while there are actions any may be one of those.
    const isNested = transactionId !== undefined && this.transactions.has(transactionId);
    const mayBeNested = isNested || [...this.working.keys()].some((call) => call.kind === "action");
    if (this.stopping.signal.aborted && !mayBeNested) {
      stream.send(calculation.failed(STOPPING));
      return;
    }
    void this.work(stream, calculation, isNested ? undefined : this.places);
  }

  private beginTask(stream: Stream, event: CloudEvent): void {
    const task = new TaskCall(event, stream, new GiveUp());
    if (this.stopping.signal.aborted) stream.send(task.failed(STOPPING));
    else void this.work(stream, task, this.taskPlaces);
  }

  /** Gives up a task that the server has given up; it expects an answer to a call of a saga only. */
  private cancelTask(event: CloudEvent): void {
    const { requestId, reason } = payloadOf(event);
    for (const call of this.working.keys()) {
      if (call.kind === "action" && call.id === requestId) {
        call.isCancelled = true;
        call.giveUp.abort(new Rejected(`the server has given the task up: ${reason}`));
      }
    }
  }

  private async work(
    stream: Stream,
    call: Calculation | TaskCall,
    places: Places | undefined,
  ): Promise<void> {
    if (this.working.size >= this.workMax) {
      const text = `this member already has ${this.workMax} calls in flight`;
      stream.send(call.failed(new Retryable(text)));
      return;
    }
    this.working.set(call, stream);
    const transaction = call instanceof Calculation ? call.context.transactionId : undefined;
    const limit = limited(call);
    try {
      if (places?.tryTake() === false) await places.take(call.giveUp.signal);
    } catch {
      clearTimeout(limit);
      this.finished(call);
      answerCancelled(stream, call);
      return;
    }
    this.countTransaction(transaction, 1);
    const leave = once(() => {
      clearTimeout(limit);
      this.countTransaction(transaction, -1);
      places?.release();
      this.finished(call);
    });
    // The handler of a call that was given up may never settle, and would keep its place for ever.
    call.giveUp.onGivenUp = leave;
    try {
      if (call.giveUp.isGivenUp) {
        answerCancelled(stream, call);
        return;
      }
      const answer = await this.calculate(stream, call);
      if (call.giveUp.isGivenUp) answerCancelled(stream, call, answer);
      else stream.send(answer);
    } finally {
      leave();
    }
  }

  private async calculate(stream: Stream, call: Calculation | TaskCall): Promise<CloudEvent> {
    const { kind } = call;
    const { name } = call.context;
    try {
      const handler = this.handlers.get(`${kind} ${name}`);
      if (handler === undefined) throw new Retryable(`this member has no ${kind} \`${name}\``);
      const result = await traced(kind, name, call.trace, () => handler(call));
      const answer = call.done(result);
      checkTexts(answer);
      stream.checkSize(answer);
      return answer;
    } catch (error) {
      const isExpected = error instanceof Rejected || error instanceof InterlockError;
      const level = isExpected ? "info" : "error";
      this.connection.logger[level](`${kind} ${name} failed`, {
        error:
          error instanceof Error && !isExpected
            ? error
            : bounded(isExpected ? error.message : error, WARNING_BYTES_MAX),
      });
      return failed(stream, call, error);
    }
  }

  private finished(call: Calculation | TaskCall): void {
    this.working.delete(call);
    if (this.working.size === 0) this.idle?.();
  }

  private countTransaction(transaction: string | undefined, change: 1 | -1): void {
    if (transaction === undefined) return;
    const count = (this.transactions.get(transaction) ?? 0) + change;
    if (count === 0) this.transactions.delete(transaction);
    else this.transactions.set(transaction, count);
  }

  private attached<T>(
    kind: Exclude<Kind, "action">,
    name: string,
    handler: (entity: Entity<T>, context: Context) => unknown,
  ): this {
    return this.register(kind, name, (call) => {
      const { entity, context } = call as Calculation;
      if (entity === undefined) {
        const text = `the workflow does not attach the entity to \`${name}\`, which needs it`;
        throw new Rejected(text);
      }
      return handler(entity as Entity<T>, context);
    });
  }

  private detached(
    kind: Exclude<Kind, "action">,
    name: string,
    handler: (context: Context) => unknown,
  ): this {
    return this.register(kind, name, (call) => handler((call as Calculation).context));
  }

  private register(kind: Kind, name: string, handler: Handler): this {
    this.handlers.set(`${kind} ${name}`, handler);
    return this;
  }
}

/** Gives a calculation up when the server does, which expects no answer then. */
function limited(call: Calculation | TaskCall): NodeJS.Timeout | undefined {
  if (!(call instanceof Calculation) || call.context.deadline === undefined) return undefined;
  const giveUp = (): void => call.giveUp.abort(new Rejected("the time of the call is up"));
  const left = call.context.deadline.getTime() - Date.now();
  if (left > 0) return setTimeout(giveUp, left);
  giveUp();
  return undefined;
}

/** The action, done the first time only. */
function once(action: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) action();
    isDone = true;
  };
}

/**
 * Answers a call of a saga that was cancelled: the server undoes it if it was done, and repeats it
 * if that is not known. It expects no answer to anything else.
 */
function answerCancelled(stream: Stream, call: Calculation | TaskCall, answer?: CloudEvent): void {
  if (!(call instanceof TaskCall && call.isConnectorCall && call.isCancelled)) return;
  const isDone = answer !== undefined && payloadOf(answer).success === true;
  stream.send(isDone ? answer : failed(stream, call, CANCELLED));
}

/** Answers that it failed; without the warnings, if the answer is too large with them. */
function failed(stream: Stream, call: Calculation | TaskCall, error: unknown): CloudEvent {
  const answer = call.failed(error);
  try {
    stream.checkSize(answer);
    return answer;
  } catch {
    call.context.warnings.length = 0;
    return call.failed(error);
  }
}
