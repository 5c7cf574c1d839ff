/** Says that a call is given up; its signal is made when somebody asks for it, which few do. */
export class GiveUp {
  private controller: AbortController | undefined;
  private why: unknown;

  /** Whether it was given up. */
  get isGivenUp(): boolean {
    return this.why !== undefined;
  }

  get signal(): AbortSignal {
    if (this.controller === undefined) {
      this.controller = new AbortController();
      if (this.isGivenUp) this.controller.abort(this.why);
    }
    return this.controller.signal;
  }

  /** Gives the call up. */
  abort(reason: Error): void {
    this.why ??= reason;
    this.controller?.abort(this.why);
  }
}
