/** Where a client writes what nobody waits for: reconnections, failed calculations. */
export interface Logger {
  info(message: string, fields: Readonly<Record<string, unknown>>): void;
  warn(message: string, fields: Readonly<Record<string, unknown>>): void;
  error(message: string, fields: Readonly<Record<string, unknown>>): void;
}

/** Writes one JSON object a line to standard error. */
export const stderrLogger: Logger = {
  info: (message, fields) => line("info", message, fields),
  warn: (message, fields) => line("warn", message, fields),
  error: (message, fields) => line("error", message, fields),
};

/** Writes nothing. */
export const silentLogger: Logger = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

function line(level: string, message: string, fields: Readonly<Record<string, unknown>>): void {
  const time = new Date().toISOString();
  const { error, ...others } = fields;
  const text = error instanceof Error ? (error.stack ?? String(error)) : error;
  process.stderr.write(`${JSON.stringify({ time, level, message, ...others, error: text })}\n`);
}
