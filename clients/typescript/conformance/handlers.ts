/** Handlers that execute the scripts of the runner. */
import {
  type Api,
  Context,
  type Entity,
  InterlockError,
  type Json,
  JsonNumber,
  type JsonObject,
  type Member,
  No,
  Outcome,
  Rejected,
  Retryable,
  type Schedule,
  type TaskContext,
} from "interlock-client";
import { ask, collect, failure, type Request } from "./asking.js";

/** A step of a script: one member names what it does. */
type Step = JsonObject;

/** A handler, as the runner describes it. */
export interface HandlerDescription {
  kind: "processor" | "criterion" | "schedule" | "action";
  name: string;
  detached?: boolean;
  scripts: Step[][];
}

/** What handlers need of the program. */
export interface Host {
  say(line: object): void;
  gate(name: string): Promise<void>;
  nextCall(): number;
}

/** Has a member call a handler. */
export function register(
  host: Host,
  member: Member,
  memberName: string,
  description: HandlerDescription,
  isQuiet: boolean,
): void {
  const { kind, name, detached = false } = description;
  const handler = new Handler(host, memberName, description, member.client, isQuiet);
  const attached = (entity: Entity, context: Context) => handler.calculate(entity, context);
  const alone = (context: Context) => handler.calculate(undefined, context);
  // The scripts return what the kind of the handler needs, which no type can say.
  switch (kind) {
    case "processor":
      if (detached) member.detachedProcessor(name, alone as never);
      else member.processor(name, attached as never);
      break;
    case "criterion":
      if (detached) member.detachedCriterion(name, alone as never);
      else member.criterion(name, attached as never);
      break;
    case "schedule":
      if (detached) member.detachedSchedule(name, alone as never);
      else member.schedule(name, attached as never);
      break;
    case "action":
      member.action(name, ((input: Json, context: TaskContext) =>
        handler.act(input, context)) as never);
  }
}

class Handler {
  private called = 0;

  constructor(
    private readonly host: Host,
    private readonly member: string,
    private readonly description: HandlerDescription,
    private readonly outside: Api,
    private readonly isQuiet: boolean,
  ) {}

  calculate(entity: Entity | undefined, context: Context): Promise<unknown> {
    const { entityId, parameters, workflow, transactionId, dispatchKey, caller } = context;
    const called = {
      entityId,
      state: entity?.state,
      data: entity?.data ?? null,
      parameters,
      workflow,
      transition: context.transition.name,
      transactionId,
      dispatchKey,
      caller: { kind: caller.kind, id: caller.id, roles: [...caller.roles] },
    };
    return this.follow(new Call(this.host, context, this.outside, called.data), called);
  }

  act(input: Json, context: TaskContext): Promise<unknown> {
    const { attempt, runId, step, idempotencyKey, outside } = context;
    const called = { data: input, attempt, runId, step, idempotencyKey };
    return this.follow(new Call(this.host, context, outside, input), called);
  }

  private async follow(call: Call, called: object): Promise<unknown> {
    const { kind, name, scripts } = this.description;
    const script = scripts[Math.min(this.called, scripts.length - 1)] ?? [];
    this.called += 1;
    if (this.isQuiet) return await call.follow(script);
    const { number } = call;
    this.host.say({ event: "called", call: number, member: this.member, kind, name, ...called });
    let how = "returned";
    try {
      return await call.follow(script);
    } catch (error) {
      how = call.isGivenUp ? "cancelled" : howItFailed(error);
      throw error;
    } finally {
      this.host.say({ event: "left", call: number, how });
    }
  }
}

function howItFailed(error: unknown): string {
  if (error instanceof Retryable) return "retry";
  return error instanceof Rejected ? "rejected" : "raised";
}

/** One call of a handler. */
class Call {
  readonly number: number;

  constructor(
    private readonly host: Host,
    private readonly context: Context | TaskContext,
    private readonly outside: Api,
    private readonly given: Json,
  ) {
    this.number = host.nextCall();
  }

  get isGivenUp(): boolean {
    return this.context.signal.aborted;
  }

  /** Executes the steps until one of them ends the call. */
  async follow(script: Step[]): Promise<unknown> {
    for (const step of script) {
      const result = await this.execute(step);
      if (result !== undefined) return result.value;
    }
    return undefined;
  }

  /** Executes a step; undefined if it is not the last. */
  private async execute(step: Step): Promise<{ value: unknown } | undefined> {
    const [what = ""] = Object.keys(step).filter((name) => name !== "reason" && name !== "outcome");
    const value = step[what] as never;
    switch (what) {
      case "return":
        return { value };
      case "merge":
        return { value: { ...(this.given as JsonObject), ...(value as JsonObject) } };
      case "keep":
        return { value: undefined };
      case "matches":
        return { value: step.reason === undefined ? value : new No(step.reason as string) };
      case "schedule":
        return { value: scheduleOf(value) };
      case "output":
        return {
          value: step.outcome === undefined ? value : new Outcome(step.outcome as string, value),
        };
      case "reject":
        throw new Rejected(value);
      case "retry":
        throw new Retryable(value);
      case "raise":
        throw new Error(value);
      case "warn":
        this.context.warn(value);
        return undefined;
      case "wait":
        await this.wait(value, step.reason);
        return undefined;
      case "call":
        await this.sayAnswer("ok", ask(this.context, this.filled(value)));
        return undefined;
      case "collect":
        await this.sayAnswer("items", collect(this.context, this.filled(value)));
        return undefined;
      case "outside":
        await this.sayAnswer("ok", ask(this.outside, this.filled(value)));
        return undefined;
      default:
        throw new Error(`there is no step \`${what}\``);
    }
  }

  /** Waits at a gate, until the call is given up: then it fails with the reason, if there is one. */
  private async wait(gate: string, reason?: unknown): Promise<void> {
    const { signal } = this.context;
    await new Promise<void>((resolve, reject) => {
      const why = typeof reason === "string" ? new Error(reason) : undefined;
      const leave = (): void => reject(why ?? signal.reason);
      if (signal.aborted) leave();
      signal.addEventListener("abort", leave, { once: true });
      void this.host.gate(gate).then(resolve);
    });
  }

  private async sayAnswer(name: string, asked: Promise<unknown>): Promise<void> {
    let answered: object;
    try {
      answered = { [name]: await asked };
    } catch (error) {
      if (!(error instanceof InterlockError)) throw error;
      answered = { error: failure(error) };
    }
    this.host.say({ event: "asked", call: this.number, ...answered });
  }

  private filled(request: Request): Request {
    const entityId = this.context instanceof Context ? this.context.entityId : null;
    const fill = (value: Json): Json => {
      if (value === "$entityId") return entityId;
      if (Array.isArray(value)) return value.map(fill);
      if (typeof value !== "object" || value === null || value instanceof JsonNumber) return value;
      const members = Object.entries(value as JsonObject);
      return Object.fromEntries(members.map(([name, member]) => [name, fill(member)]));
    };
    return { ...request, payload: fill(request.payload) as JsonObject };
  }
}

function scheduleOf(given: Record<string, JsonNumber>): Schedule {
  const { fireAt, fireAfterMs, expireAt, expireAfterMs } = given;
  return {
    ...(fireAt && { fireAt: new Date(fireAt.toNumber()) }),
    ...(fireAfterMs && { fireAfterMs: fireAfterMs.toNumber() }),
    ...(expireAt && { expireAt: new Date(expireAt.toNumber()) }),
    ...(expireAfterMs && { expireAfterMs: expireAfterMs.toNumber() }),
  } as Schedule;
}
