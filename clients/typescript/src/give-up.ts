/** Says that a call is given up; its signal is made when somebody asks for it, which few do. */
export class GiveUp {
  private controller: AbortController | undefined;
  private why: unknown;
  /** Called once, when it is given up. */
  onGivenUp: (() => void) | undefined;

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

  /** Gives the call up; to do so once more does nothing. */
  abort(reason: Error): void {
    if (this.isGivenUp) return;
    this.why = reason;
    this.controller?.abort(reason);
    this.onGivenUp?.();
  }
}
