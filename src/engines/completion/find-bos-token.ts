import type { ServerTokenizer } from './server-tokenizer.ts';

/** Finds the token that the server's tokenizer adds at the beginning of a prompt (BOS); undefined if it adds none. */
export async function findBosToken(tokens: ServerTokenizer): Promise<number | undefined> {
  const [withBos, plain] = await Promise.all([
    tokens.tokenizeSpecial('a', { addsBos: true }),
    tokens.tokenizeSpecial('a'),
  ]);
  return withBos.length > plain.length && plain.every((token, at) => withBos[at + 1] === token)
    ? withBos[0]
    : undefined;
}
