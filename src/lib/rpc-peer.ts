/** Functions that the other side may call. Each has one argument and one result, both plain JSON. */
export type RpcHandlers<Methods> = {
  readonly [Name in keyof Methods]: Methods[Name] extends (argument: infer Argument) => infer Result
    ? (argument: Argument) => Result | Promise<Result>
    : never;
};

type ArgumentOf<Method> = Method extends (argument: infer Argument) => unknown ? Argument : never;
type ResultOf<Method> = Method extends (argument: never) => infer Result ? Awaited<Result> : never;

/** Calls between two peers in both directions, over any channel that carries messages. */
export interface RpcPeer<Remote> {
  /**
   * Calls a function of the other side.
   * @throws the error of the other side, as decoded by `errors`; the signal's reason; the reason of `close`.
   */
  call<Name extends keyof Remote & string>(
    name: Name,
    argument: ArgumentOf<Remote[Name]>,
    signal?: AbortSignal,
  ): Promise<ResultOf<Remote[Name]>>;
  /** Processes a message of the channel. Ignores messages of other protocols. */
  receive(message: unknown): void;
  /** Rejects all pending and future calls with this reason, e.g. because the other side is gone. */
  close(reason: Error): void;
}

/** Converts errors to JSON and back. */
export interface ErrorCodec {
  encode(error: unknown): unknown;
  decode(encoded: unknown): Error;
}

export interface RpcPeerOptions<Local> {
  readonly send: (message: object) => void;
  readonly handlers: RpcHandlers<Local>;
  readonly errors: ErrorCodec;
}

/** Messages on the channel. */
type RpcMessage =
  | { readonly type: 'call'; readonly id: number; readonly name: string; readonly argument: unknown }
  | { readonly type: 'result'; readonly id: number; readonly result: unknown }
  | { readonly type: 'error'; readonly id: number; readonly error: unknown };

interface PendingCall {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Connects two peers. A result that cannot be sent is dropped: the caller is gone with the channel. */
export function createRpcPeer<Remote, Local>({ send, handlers, errors }: RpcPeerOptions<Local>): RpcPeer<Remote> {
  const pendingCalls = new Map<number, PendingCall>();
  let callCount = 0;
  let closeReason: Error | undefined;

  const reply = (message: RpcMessage): void => {
    try {
      send(message);
    } catch {
      // The channel is closed, so no caller waits for the result.
    }
  };

  const handleCall = async (id: number, name: string, argument: unknown): Promise<void> => {
    try {
      const handler = Object.hasOwn(handlers, name) ? handlers[name as keyof Local] : undefined;
      if (typeof handler !== 'function') throw new TypeError(`unknown function ${name}`);
      reply({ type: 'result', id, result: await handler(argument) });
    } catch (error) {
      reply({ type: 'error', id, error: errors.encode(error) });
    }
  };

  return {
    call(name, argument, signal) {
      return new Promise((resolve, reject) => {
        if (closeReason) return reject(closeReason);
        if (signal?.aborted) return reject(signal.reason);
        const id = ++callCount;
        const finish = (settle: () => void): void => {
          pendingCalls.delete(id);
          signal?.removeEventListener('abort', onAbort);
          settle();
        };
        const onAbort = (): void => finish(() => reject(signal?.reason));
        pendingCalls.set(id, {
          resolve: (result) => finish(() => resolve(result as ResultOf<Remote[typeof name]>)),
          reject: (error) => finish(() => reject(error)),
        });
        signal?.addEventListener('abort', onAbort, { once: true });
        try {
          send({ type: 'call', id, name, argument } satisfies RpcMessage);
        } catch (error) {
          finish(() => reject(error));
        }
      });
    },
    receive(received) {
      const message = Object(received) as Partial<RpcMessage>;
      if (message.id === undefined) return;
      switch (message.type) {
        case 'call':
          return void handleCall(message.id, String(message.name), message.argument);
        case 'result':
          return pendingCalls.get(message.id)?.resolve(message.result);
        case 'error':
          return pendingCalls.get(message.id)?.reject(errors.decode(message.error));
        case undefined:
          return;
      }
    },
    close(reason) {
      closeReason = reason;
      for (const each of pendingCalls.values()) each.reject(reason);
    },
  };
}
