/** A stream that can be paused while other output uses the terminal. */
export interface PausableStream {
  write(text: string): void;
  /** Keeps further lines until the returned function is called. Several pauses may overlap. */
  pause(): () => void;
}

/** @param stream Destination. Its `flush` is called at the start of a pause. */
export function createPausableStream(stream: { write(text: string): unknown; flush?(): void }): PausableStream {
  let pauses = 0;
  let waiting: string[] = [];
  return {
    write(text) {
      if (pauses > 0) waiting.push(text);
      else stream.write(text);
    },
    pause() {
      stream.flush?.();
      pauses++;
      let isResumed = false;
      return () => {
        if (isResumed) return;
        isResumed = true;
        pauses--;
        if (pauses > 0) return;
        const lines = waiting;
        waiting = [];
        for (const line of lines) stream.write(line);
      };
    },
  };
}
