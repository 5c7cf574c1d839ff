import { Api } from "./api.js";
import { Connection, type ConnectionOptions } from "./connection.js";

/** How a client connects. */
export type ClientOptions = ConnectionOptions;

/**
 * All operations of a server, over one multiplexed stream.
 *
 * Any number of requests may be made at once; answers arrive as they are ready. When the stream is
 * lost, waiting requests reject with `ConnectionLostError`, and the next one opens another stream.
 *
 * ```ts
 * const client = new Client("localhost:9090");
 * console.log(await client.model.list());
 * await client.close();
 * ```
 */
export class Client extends Api implements AsyncDisposable {
  private readonly connection: Connection;

  /** Prepares; nothing is connected yet. `target` is the server's gRPC port, as `host:port`. */
  constructor(target = "localhost:9090", options: ClientOptions = {}) {
    const connection = new Connection(target, options);
    super(connection);
    this.connection = connection;
  }

  /**
   * Waits until the server can be reached; requests do so themselves.
   * @throws ConnectionLostError if that takes longer than the connect timeout.
   */
  async connect(options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.connection.connect(options.signal);
  }

  /**
   * Waits for outstanding answers, for 10 s at most, then disconnects. Feeds and streamed answers
   * that are still read end with `ClientClosedError`.
   */
  async close(): Promise<void> {
    await this.connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
