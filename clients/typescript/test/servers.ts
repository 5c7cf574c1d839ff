/** Real servers for tests: one process each, on free ports, forgetting everything at the end. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const BUILT = fileURLToPath(new URL("../../../../target/debug/interlock", import.meta.url));
const BINARY = process.env.INTERLOCK_BIN ?? join(BUILT);
const START_MS = 20_000;

/** A server process that can be killed, and started again where it was. */
export class Server implements AsyncDisposable {
  /** Its gRPC port, as `host:port`; the same after a restart. */
  target = "";
  /** The beginning of the URLs of its REST API. */
  rest = "";
  private process: ChildProcess | undefined;

  private constructor(private readonly settings: Record<string, string>) {}

  /** Starts a server with settings of its own. */
  static async start(settings: Record<string, string> = {}): Promise<Server> {
    const server = new Server({
      CYODA_STORAGE_BACKEND: "memory",
      INTERLOCK_IAM_MOCK_CALLER: "true",
      // A test that calls a processor has its member ready.
      CYODA_DISPATCH_WAIT_TIMEOUT: "0s",
      ...settings,
    });
    await server.restart();
    return server;
  }

  /** Starts it, on the ports that it had. */
  async restart(): Promise<void> {
    const port = (url: string): string => url.split(":").at(-1) || "0";
    const child = spawn(BINARY, {
      cwd: "/",
      env: {
        ...this.settings,
        CYODA_HTTP_PORT: port(this.rest),
        CYODA_GRPC_PORT: port(this.target),
        CYODA_ADMIN_PORT: "0",
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.process = child;
    const timer = setTimeout(() => child.kill("SIGKILL"), START_MS);
    for await (const line of createInterface({ input: child.stdout })) {
      const ready = /interlock is ready .*http=\S+:(\d+) .*grpc=\S+:(\d+)/.exec(line);
      if (ready === null) continue;
      this.rest = `http://127.0.0.1:${ready[1]}`;
      this.target = `127.0.0.1:${ready[2]}`;
      break;
    }
    clearTimeout(timer);
    child.stdout.resume();
    if (this.target === "") throw new Error(`${BINARY} did not become ready`);
  }

  /** Ends it without letting it finish anything. */
  async kill(): Promise<void> {
    await this.end("SIGKILL");
  }

  /** Asks it to end, and waits until it has. */
  async stop(): Promise<void> {
    await this.end("SIGTERM");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  private async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    const child = this.process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }
}
