/** A signal that aborts some time after another. */
export interface Grace {
  readonly signal: AbortSignal;
  /** Lets go of the other signal and its time. */
  end(): void;
}

/**
 * What a request in flight is given when nobody wants it any more. One that is cut off may be carried out all the same,
 * after we have cleaned up behind it; one that was answered cannot.
 */
export function giveGrace(wanted: AbortSignal | undefined, graceMs: number): Grace {
  const controller = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer ??= setTimeout(() => controller.abort(), graceMs);
  };
  wanted?.addEventListener('abort', begin, { once: true });
  if (wanted?.aborted === true) begin();
  return {
    signal: controller.signal,
    end() {
      wanted?.removeEventListener('abort', begin);
      clearTimeout(timer);
    },
  };
}
