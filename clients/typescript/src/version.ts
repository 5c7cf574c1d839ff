/** The version of this client, in step with the server's. */
export const VERSION = "0.1.0";

/**
 * The part of a version in which a client and its server must agree: the major version, and while it
 * is 0 the minor one, too.
 */
export function understood(version: string): string {
  const [, major, minor = "0"] = /^(\d+)(?:\.(\d+))?/.exec(version) ?? [];
  if (major === undefined) return version;
  return Number(major) === 0 ? `0.${Number(minor)}` : String(Number(major));
}

/** Whether a client understands a server of that version. */
export function isUnderstood(server: string, client: string = VERSION): boolean {
  return understood(server) === understood(client);
}
