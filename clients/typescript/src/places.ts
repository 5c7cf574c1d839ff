/** A bound on how many of something may be there at once. */
export class Places {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(count: number) {
    this.free = count;
  }

  /** Takes a place if one is free. */
  tryTake(): boolean {
    if (this.free === 0) return false;
    this.free -= 1;
    return true;
  }

  /**
   * Waits for a place, in the order of the calls.
   * @throws the reason of `signal`, if that is aborted before.
   */
  async take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.tryTake()) return;
    await new Promise<void>((resolve, reject) => {
      const give = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.waiting.splice(this.waiting.indexOf(give), 1);
        reject(signal?.reason);
      };
      this.waiting.push(give);
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  /** Returns a place. */
  release(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.free += 1;
    else next();
  }
}

/** Requests that wait for each other's places, and the transaction that all of them join, if any. */
export class Lane {
  readonly places: Places;

  constructor(
    places: number,
    readonly token?: string,
  ) {
    this.places = new Places(places);
  }
}
