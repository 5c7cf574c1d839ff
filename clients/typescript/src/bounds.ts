/**
 * What the answer of a handler may contain, whatever the handler said. A text that no server can
 * read would leave the caller without an answer, and one that is too large would end the stream,
 * and with it everything else on it.
 */

/** How many bytes of the text of a failure are sent. */
export const FAILURE_BYTES_MAX = 64 << 10;

/** How many warnings are sent; the last one says how many more there were. */
export const WARNINGS_MAX = 1_000;

/** How many bytes of a warning are sent. */
export const WARNING_BYTES_MAX = 4 << 10;

const CUT = "…";

/**
 * A text in which halves of surrogate pairs are replaced, cut to so many bytes; what is cut ends
 * with `…`.
 */
export function bounded(text: unknown, most: number): string {
  // No character has less than a byte, so nothing beyond these is needed.
  const bytes = Buffer.from(textOf(text).slice(0, most + 1));
  if (bytes.length <= most) return bytes.toString();
  let end = most - Buffer.byteLength(CUT);
  const isWithinCharacter = (at: number): boolean => ((bytes[at] ?? 0) & 0xc0) === 0x80;
  while (isWithinCharacter(end)) end -= 1;
  return bytes.toString("utf8", 0, end) + CUT;
}

/** The warnings of a call as they are sent. */
export function boundedWarnings(warnings: readonly unknown[]): string[] {
  const leftOut = warnings.length - (WARNINGS_MAX - 1);
  const texts =
    warnings.length <= WARNINGS_MAX
      ? warnings
      : [...warnings.slice(0, WARNINGS_MAX - 1), `${leftOut} more warnings are left out`];
  return texts.map((text) => bounded(text, WARNING_BYTES_MAX));
}

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return `a value of type ${typeof value} that has no text`;
  }
}
