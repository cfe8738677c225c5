import { InvalidArgumentError } from 'commander';

/** Parses a number of tokens from the command line. @throws InvalidArgumentError unless it is a positive integer. */
export function parseTokens(text: string): number {
  const tokens = Number(text);
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw new InvalidArgumentError('must be a positive integer');
}
