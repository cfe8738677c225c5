import { ServiceError } from '../core/error.ts';

/**
 * What a failure shows of the server behind it. `unreachable`: nobody takes connections there. `answered`: it told the
 * failure in good form, so it works, and the request may be what it failed on.
 */
export type Shown = 'unreachable' | 'answered';

/** Why an upstream failed, for our log. An error and not a text: that is what the log writes in full. */
export class UpstreamCause extends Error {
  readonly shows: Shown | undefined;

  constructor(message: string, shows?: Shown) {
    super(message);
    this.shows = shows;
  }
}

export const shownBy = (thrown: unknown): Shown | undefined =>
  thrown instanceof ServiceError && thrown.cause instanceof UpstreamCause ? thrown.cause.shows : undefined;
