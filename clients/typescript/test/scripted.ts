/** Servers that do what a test tells them, for what a real one does not do, or not soon. */
import {
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerWritableStream,
  type status,
} from "@grpc/grpc-js";
import { type CloudEvent, deserialize, envelop, serialize } from "#client/envelope.js";

const SERVICE = "org.cyoda.cloud.api.grpc.CloudEventsService";

/** The server's side of one stream. */
export class Side {
  private readonly came: CloudEvent[] = [];
  private arrived: () => void = () => undefined;
  /** The client has given the stream up. */
  readonly left: Promise<void>;

  constructor(private readonly call: ServerDuplexStream<CloudEvent, CloudEvent>) {
    this.left = new Promise((resolve) => {
      call.once("cancelled", () => resolve());
    });
    call.on("data", (event: CloudEvent) => {
      this.came.push(event);
      this.arrived();
    });
    // The client has said all it will say.
    call.on("end", () => call.end());
  }

  /** Waits for an event of the client. */
  async read(): Promise<CloudEvent> {
    for (;;) {
      const event = this.came.shift();
      if (event !== undefined) return event;
      await new Promise<void>((resolve) => {
        this.arrived = resolve;
      });
    }
  }

  write(type: string, payload: object, attributes: Record<string, string> = {}): void {
    this.writeRaw(envelop(type, payload, attributes));
  }

  /** Sends an event as it is. */
  writeRaw(event: CloudEvent): void {
    this.call.write(event);
  }

  /** Takes the client as a member. */
  async greet(): Promise<void> {
    await this.read();
    this.write("CalculationMemberGreetEvent", { memberId: "m-1", success: true });
  }
}

/** What a separate call is answered with, and how it ends: well, if it is not said. */
export interface Answered {
  events: CloudEvent[];
  end?: { code: status; details: string } | undefined;
}

/**
 * Runs a server that follows a script on every stream, and ends the stream after it. Without
 * `answered` separate calls are never answered.
 */
export async function scripted(
  script: (side: Side) => Promise<void>,
  metadata: Record<string, string> = {},
  answered?: () => Answered,
): Promise<AsyncDisposable & { target: string }> {
  const server = new Server();
  const startStreaming = {
    path: `/${SERVICE}/startStreaming`,
    requestStream: true,
    responseStream: true,
    requestDeserialize: deserialize,
    requestSerialize: serialize,
    responseDeserialize: deserialize,
    responseSerialize: serialize,
  };
  const follow = async (call: ServerDuplexStream<CloudEvent, CloudEvent>): Promise<void> => {
    call.on("error", () => undefined);
    const sent = new Metadata();
    for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
    call.sendMetadata(sent);
    await script(new Side(call)).catch(() => undefined);
    call.end();
  };
  const entitySearchCollection = {
    ...startStreaming,
    path: `/${SERVICE}/entitySearchCollection`,
    requestStream: false,
  };
  const feed = (call: ServerWritableStream<CloudEvent, CloudEvent>): void => {
    const sent = new Metadata();
    for (const [name, value] of Object.entries(metadata)) sent.set(name, value);
    call.sendMetadata(sent);
    if (answered === undefined) return;
    const { events, end } = answered();
    for (const event of events) call.write(event);
    if (end === undefined) call.end();
    else call.emit("error", end);
  };
  const methods = { startStreaming, entitySearchCollection };
  server.addService(methods, { startStreaming: follow, entitySearchCollection: feed });
  const port = await new Promise<number>((resolve, reject) => {
    const bound = (error: Error | null, bound: number): void =>
      error === null ? resolve(bound) : reject(error);
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), bound);
  });
  return {
    target: `127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  };
}

interface Deferred<T> {
  promise: Promise<T>;
  resolve: (value: T) => void;
}

/** A promise that the test resolves. */
export function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
