export interface Looks {
  /** Looks soon. Rings while it looks are one look after it. */
  ring(): void;
  /** Resolves when it does not look. */
  idle(): Promise<void>;
}

/** Work that is never done twice at a time, and once more after the last who asked for it. @param look Never rejects. */
export function createLooks(look: () => Promise<void>): Looks {
  let looking: Promise<void> | undefined;
  let isRung = false;
  const lookOn = async (): Promise<void> => {
    while (isRung) {
      isRung = false;
      await look();
    }
    looking = undefined;
  };
  return {
    ring() {
      isRung = true;
      looking ??= lookOn();
    },
    idle: async () => await looking,
  };
}
