import { z } from 'zod';

/** What an upstream says of its own failure. */
export interface ErrorWords {
  readonly message?: string;
  /** The HTTP status it would have answered with, where the error came inside a 200. */
  readonly status?: number;
  /** It names a prompt that is too long for the context, whatever its status. */
  readonly isTooLong?: true;
}

const Code = z.union([z.int(), z.string()]).nullish().catch(undefined);

const Told = z.object({
  message: z.string().nullish().catch(undefined),
  code: Code,
  status: Code,
  type: Code,
});

/** In the words of two servers. */
const TOO_LONG: readonly unknown[] = ['context_length_exceeded', 'exceed_context_size_error'];

/** What llama-server says, as a failure of its own, of a text that is to become a vector; what vLLM and SGLang say of a prompt. */
const TOO_LARGE =
  /^input \(\d+ tokens\) is too large to process|maximum (context|model) length|longer than the (maximum )?(model'?s? )?(context|allowed) length/i;

const Failure = Told.extend({
  object: z.unknown().optional(),
  error: z.unknown().optional(),
  detail: z.unknown().optional(),
});

/** The error that a body or an event holds, in the forms servers use; undefined when it holds none. */
export function errorIn(value: unknown): ErrorWords | undefined {
  const parsed = Failure.safeParse(value);
  if (!parsed.success) return undefined;
  const { error } = parsed.data;
  if (error) return wordsOf(error);
  return parsed.data.object === 'error' ? wordsOf(value) : undefined;
}

/** What the body of a refusal says, whatever its form. */
export function refusalWords(value: unknown): ErrorWords {
  const words = errorIn(value) ?? wordsOf(value);
  if (words.message !== undefined) return words;
  const detail = Failure.safeParse(value).data?.detail;
  return detail === undefined
    ? words
    : { ...words, message: typeof detail === 'string' ? detail : JSON.stringify(detail) };
}

function wordsOf(told: unknown): ErrorWords {
  if (typeof told === 'string') return { message: told };
  const { message, code, status, type } = Told.safeParse(told).data ?? {};
  const known = [code, status].map(Number).find((number) => number >= 400 && number <= 599);
  const isTooLong = TOO_LONG.includes(code) || TOO_LONG.includes(type) || TOO_LARGE.test(message ?? '');
  return {
    ...(message ? { message } : {}),
    ...(known === undefined ? {} : { status: known }),
    ...(isTooLong ? { isTooLong } : {}),
  };
}
