/** A stream whose lines can wait while something else has the terminal. */
export interface HeldStream {
  write(text: string): void;
  /** Lines wait until what comes back is called. */
  hold(): () => void;
}

/** @param stream What it still has waiting itself is written before a hold begins. */
export function createHeldStream(stream: { write(text: string): unknown; flush?(): void }): HeldStream {
  let holds = 0;
  let waiting: string[] = [];
  return {
    write(text) {
      if (holds > 0) waiting.push(text);
      else stream.write(text);
    },
    hold() {
      stream.flush?.();
      holds++;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        holds--;
        if (holds > 0) return;
        const lines = waiting;
        waiting = [];
        for (const line of lines) stream.write(line);
      };
    },
  };
}
