/**
 * What a process that keeps engines does for another one of ours that calls them. How they are called is told by their
 * ready values; requests and answers do not pass here.
 */
export interface HostFunctions {
  /** Holds what runs this model of the catalogue; it is not closed before its release. */
  'engine.open': (model: string) => Held;
  /** Resolves when it is ready: at once, or when it has started, or started again. */
  'engine.ready': (held: Held) => ReadyAs;
  /** A call of the guest has failed. Resolves when the host knows, too, whether that child is gone. */
  'engine.gone': (gone: Held & Pick<ReadyAs, 'life'>) => boolean;
  'engine.release': (released: Held & { readonly idleMs: number }) => void;
}

export interface GuestFunctions {
  /** Releases what it holds and does not use: the host needs room. */
  'engine.recall': (all: null) => void;
}

export interface Held {
  readonly lease: number;
}

export interface ReadyAs {
  /** Counts the starts that this guest has seen: the same number is the same child. */
  readonly life: number;
  /** The ready value, plain JSON. */
  readonly value: unknown;
}
