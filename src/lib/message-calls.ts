/** Functions that the other side may call: one argument, one result, both plain JSON. */
export type Answers<Functions> = {
  readonly [Name in keyof Functions]: Functions[Name] extends (argument: infer Argument) => infer Result
    ? (argument: Argument) => Result | Promise<Result>
    : never;
};

type ArgumentOf<Called> = Called extends (argument: infer Argument) => unknown ? Argument : never;
type ResultOf<Called> = Called extends (argument: never) => infer Result ? Awaited<Result> : never;

/** Calls over a channel that only carries messages, in both directions, each answered on its own. */
export interface MessageCalls<Theirs> {
  /**
   * @throws What the other side threw, as `errors` can tell it; the signal's reason; the reason of `end`.
   */
  ask<Name extends keyof Theirs & string>(
    name: Name,
    argument: ArgumentOf<Theirs[Name]>,
    signal?: AbortSignal,
  ): Promise<ResultOf<Theirs[Name]>>;
  /** Every message of the channel goes here; what is none of ours is passed over. */
  receive(message: unknown): void;
  /** The other side is gone: all that is asked fails with this. */
  end(reason: Error): void;
}

/** How a failure crosses. */
export interface ErrorCodec {
  encode(error: unknown): unknown;
  decode(encoded: unknown): Error;
}

export interface MessageCallsOptions<Ours> {
  readonly send: (message: object) => void;
  readonly answers: Answers<Ours>;
  readonly errors: ErrorCodec;
}

/** What crosses the channel. */
type Message =
  | { readonly type: 'ask'; readonly id: number; readonly name: string; readonly argument: unknown }
  | { readonly type: 'answer'; readonly id: number; readonly result: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly error: unknown };

interface Asked {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** An answer that cannot be sent is given up: whoever asked has gone with the channel. */
export function createMessageCalls<Theirs, Ours>({
  send,
  answers,
  errors,
}: MessageCallsOptions<Ours>): MessageCalls<Theirs> {
  const asked = new Map<number, Asked>();
  let asks = 0;
  let ended: Error | undefined;

  const reply = (message: Message): void => {
    try {
      send(message);
    } catch {
      // Nobody waits for it.
    }
  };

  const answer = async (id: number, name: string, argument: unknown): Promise<void> => {
    try {
      const called = Object.hasOwn(answers, name) ? answers[name as keyof Ours] : undefined;
      if (typeof called !== 'function') throw new TypeError(`there is no ${name}`);
      reply({ type: 'answer', id, result: await called(argument) });
    } catch (error) {
      reply({ type: 'failure', id, error: errors.encode(error) });
    }
  };

  return {
    ask(name, argument, signal) {
      return new Promise((resolve, reject) => {
        if (ended) return reject(ended);
        if (signal?.aborted) return reject(signal.reason);
        const id = ++asks;
        const over = (settle: () => void): void => {
          asked.delete(id);
          signal?.removeEventListener('abort', onAbort);
          settle();
        };
        const onAbort = (): void => over(() => reject(signal?.reason));
        asked.set(id, {
          resolve: (result) => over(() => resolve(result as ResultOf<Theirs[typeof name]>)),
          reject: (error) => over(() => reject(error)),
        });
        signal?.addEventListener('abort', onAbort, { once: true });
        try {
          send({ type: 'ask', id, name, argument } satisfies Message);
        } catch (error) {
          over(() => reject(error));
        }
      });
    },
    receive(received) {
      const message = Object(received) as Partial<Message>;
      if (message.id === undefined) return;
      switch (message.type) {
        case 'ask':
          return void answer(message.id, String(message.name), message.argument);
        case 'answer':
          return asked.get(message.id)?.resolve(message.result);
        case 'failure':
          return asked.get(message.id)?.reject(errors.decode(message.error));
        case undefined:
          return;
      }
    },
    end(reason) {
      ended = reason;
      for (const each of asked.values()) each.reject(reason);
    },
  };
}
