/** A stream whose lines can wait while something else has the terminal. */
export interface HeldStream {
  write(text: string): void;
  /** Lines wait until what comes back is called. */
  hold(): () => void;
}

export function createHeldStream(stream: { write(text: string): unknown }): HeldStream {
  let holds = 0;
  let waiting: string[] = [];
  return {
    write(text) {
      if (holds > 0) waiting.push(text);
      else stream.write(text);
    },
    hold() {
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
