/** Executes the commands of the conformance runner. */
import { createInterface } from "node:readline";
import {
  type Api,
  Client,
  type ConnectionOptions,
  clientCredentials,
  decode,
  encode,
  InterlockError,
  type JsonNumber,
  Member,
} from "interlock-client";
import { ask, collect, failure, type Request, readEach } from "./asking.js";
import { items } from "./feeds.js";
import { type HandlerDescription, type Host, register } from "./handlers.js";

/** A command; which members there are depends on what it is. */
interface Command extends Request {
  id: JsonNumber;
  do: string;
  as: string;
  on: string;
  target: string;
  access: {
    metadata?: Record<string, string>;
    oauth?: { url: string; clientId: string; clientSecret: string };
  };
  tags: string[];
  concurrency?: JsonNumber;
  handlers: HandlerDescription[];
  quiet?: boolean;
  timeoutMs?: JsonNumber;
  count: JsonNumber;
  feed: string;
  gate: string;
  member: string;
  client: string;
}

/** Clients, members and feeds by the names that the runner gives them. */
export class Program implements Host {
  private readonly clients = new Map<string, Client>();
  private readonly members = new Map<string, Member>();
  private readonly feeds = new Map<string, AbortController>();
  private readonly gates = new Map<string, Gate>();
  private calls = 0;
  private readonly commands: Record<string, (command: Command) => Promise<unknown>> = {
    hello: async () => ({ language: "typescript", protocol: 1 }),
    connect: (command) => this.connect(command),
    join: (command) => this.join(command),
    serve: async (command) => this.serve(command),
    call: (command) => this.call(command),
    calls: (command) => this.callMany(command),
    collect: async (command) => ({ items: await collect(this.api(command), command) }),
    "read-each": async (command) => ({ read: await readEach(this.api(command), command) }),
    follow: async (command) => this.follow(command),
    unfollow: async (command) => this.unfollow(command),
    open: async (command) => this.gateOf(command.gate).open(),
    leave: (command) => this.leave(command),
    close: (command) => this.close(command),
    reset: () => this.reset(),
  };

  /** Executes commands until standard input ends. */
  async run(): Promise<void> {
    for await (const line of createInterface({ input: process.stdin })) {
      void this.execute(decode(line) as unknown as Command);
    }
    await this.reset();
  }

  say(line: object): void {
    process.stdout.write(`${encode(line)}\n`);
  }

  gate(name: string): Promise<void> {
    return this.gateOf(name).passed;
  }

  nextCall(): number {
    this.calls += 1;
    return this.calls;
  }

  private async execute(command: Command): Promise<void> {
    const execute = this.commands[command.do];
    try {
      if (execute === undefined) {
        throw new InterlockError(`there is no command \`${command.do}\``, { code: "UNSUPPORTED" });
      }
      this.say({ id: command.id, ok: (await execute(command)) ?? {} });
    } catch (error) {
      this.say({ id: command.id, error: failure(error) });
    }
  }

  private async connect(command: Command): Promise<void> {
    const client = new Client(command.target, optionsOf(command));
    await client.connect();
    this.clients.set(command.as, client);
  }

  private async join(command: Command): Promise<void> {
    await this.member(command).start();
  }

  private serve(command: Command): void {
    // Whether it has failed is seen by who it serves.
    this.member(command).run().catch(console.error);
  }

  private member(command: Command): Member {
    const { tags, concurrency, quiet = false } = command;
    const places = concurrency && { concurrency: concurrency.toNumber() };
    const member = new Member(command.target, { ...optionsOf(command), tags, ...places });
    for (const handler of command.handlers) {
      register(this, member, command.as, handler, quiet);
    }
    this.members.set(command.as, member);
    return member;
  }

  private async call(command: Command): Promise<unknown> {
    const timeout = command.timeoutMs?.toNumber();
    const signal = timeout === undefined ? undefined : AbortSignal.timeout(timeout);
    return await ask(this.api(command), command, signal);
  }

  private async callMany(command: Command): Promise<unknown> {
    const api = this.api(command);
    const asked = Array.from({ length: command.count.toNumber() }, () => ask(api, command));
    const failed: Record<string, number> = {};
    let answered = 0;
    for (const result of await Promise.allSettled(asked)) {
      if (result.status === "fulfilled") answered += 1;
      else {
        const code = String(failure(result.reason).code);
        failed[code] = (failed[code] ?? 0) + 1;
      }
    }
    return { answered, failed };
  }

  private follow(command: Command): void {
    const controller = new AbortController();
    this.feeds.set(command.as, controller);
    void this.feedItems(command, controller.signal);
  }

  private async feedItems(command: Command, signal: AbortSignal): Promise<void> {
    const feed = command.as;
    let ended: object = { event: "ended", feed };
    try {
      for await (const item of items(this.api(command), command.type, command.payload, signal)) {
        this.say({ event: "item", feed, item });
      }
    } catch (error) {
      ended = { ...ended, error: failure(error) };
    }
    if (!signal.aborted) this.say(ended);
  }

  private unfollow(command: Command): void {
    this.feeds.get(command.feed)?.abort();
    this.feeds.delete(command.feed);
  }

  private async leave(command: Command): Promise<void> {
    const member = this.members.get(command.member);
    this.members.delete(command.member);
    await member?.stop();
  }

  private async close(command: Command): Promise<void> {
    const client = this.clients.get(command.client);
    this.clients.delete(command.client);
    await client?.close();
  }

  private async reset(): Promise<void> {
    for (const feed of this.feeds.values()) feed.abort();
    const members = [...this.members.values()];
    const clients = [...this.clients.values()];
    for (const owned of [this.feeds, this.members, this.clients, this.gates]) owned.clear();
    await Promise.all([
      ...members.map((member) => member.stop({ timeoutMs: 0 })),
      ...clients.map((client) => client.close()),
    ]);
  }

  private api(command: Command): Api {
    const api = this.members.get(command.on)?.client ?? this.clients.get(command.on);
    if (api === undefined) throw new Error(`there is no \`${command.on}\``);
    return api;
  }

  private gateOf(name: string): Gate {
    const gate = this.gates.get(name) ?? new Gate();
    this.gates.set(name, gate);
    return gate;
  }
}

/** Where handlers wait until it is opened. */
class Gate {
  readonly passed: Promise<void>;
  open: () => void = () => undefined;

  constructor() {
    this.passed = new Promise((resolve) => {
      this.open = resolve;
    });
  }
}

function optionsOf({ access }: Command): ConnectionOptions {
  if (access.oauth === undefined) return { metadata: access.metadata ?? {} };
  const { url, clientId, clientSecret } = access.oauth;
  return { token: clientCredentials({ tokenUrl: url, clientId, clientSecret }) };
}
