import type { TokenServer } from './token-server.ts';

/** The token that a server puts before a text when it is to begin a prompt with it. */
export async function beginToken(tokens: TokenServer): Promise<number | undefined> {
  const [begun, plain] = await Promise.all([tokens.special('a', { begins: true }), tokens.special('a')]);
  return begun.length > plain.length && plain.every((token, at) => begun[at + 1] === token) ? begun[0] : undefined;
}
