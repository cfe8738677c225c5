import { z } from 'zod';
import { PAGE_BYTES_MAX, PAGE_TEXT_CHARS_MAX } from '../core/limits.ts';

const text = z.string({ error: 'must be a text' }).min(1, { error: 'must not be empty' });
const texts = z.array(text, { error: 'must be a list' });
const whole = (min: number, max: number) => {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.int({ error }).min(min, { error }).max(max, { error });
};

const address = text.refine(
  (value) => {
    const url = URL.parse(value);
    return (
      url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === ''
    );
  },
  { error: 'must be an address that begins with http:// or https://, without user, password and query' },
);

const variable = text.regex(/^[A-Za-z_]\w*$/, { error: 'must be the name of an environment variable, not a key' });

/** Fields of every provider that stands on a network. */
const service = {
  /** As the log calls it; default: its type, with a number where there are several. */
  name: text.optional(),
  /** Such as `weather`: asked only where a caller wishes for domains, and what it says is told apart from results. */
  domain: text.regex(/^[a-z][a-z0-9_-]{0,31}$/, { error: 'must be a word of lower-case letters' }).optional(),
};

const language = text
  .regex(/^[A-Za-z]{2,3}(?:-[A-Za-z]{2,4})?$/, { error: 'must be a language such as en' })
  .optional();

const provider = z.discriminatedUnion(
  'type',
  [
    /** Documents of our own. */
    z.strictObject({ type: z.literal('index') }),
    z.strictObject({
      type: z.literal('searxng'),
      url: address,
      ...service,
      /** Of a proxy before the instance. */
      apiKeyEnv: variable.optional(),
      engines: texts.optional(),
      categories: texts.optional(),
      language,
    }),
    /** `url`: where `api.php` is, such as https://wiki.example.com/w. */
    z.strictObject({ type: z.literal('mediawiki'), url: address, ...service }),
    z.strictObject({
      type: z.literal('kiwix'),
      url: address,
      ...service,
      /** Names of books; default: all, or those in `language`, of three letters. */
      books: texts.optional(),
      language,
    }),
    z.strictObject({
      type: z.literal('tavily'),
      url: address.default('https://api.tavily.com'),
      ...service,
      apiKeyEnv: variable,
    }),
    z.strictObject({
      type: z.literal('brave'),
      url: address.default('https://api.search.brave.com'),
      ...service,
      apiKeyEnv: variable,
      country: text.regex(/^[A-Z]{2}$/, { error: 'must be a country such as DE' }).optional(),
      language,
    }),
  ],
  { error: 'must have a type: index, searxng, mediawiki, kiwix, tavily or brave' },
);

/** What models may look up: where, and within what limits. */
export const searchSection = z.strictObject(
  {
    /** In the order in which they are asked where one is enough. */
    providers: z
      .array(provider, { error: 'must be a list' })
      .max(32, { error: 'must not be more than 32' })
      .default([{ type: 'index' }]),
    pages: z
      .strictObject(
        {
          bytesMax: whole(1_024, 64 * 1024 * 1024).default(PAGE_BYTES_MAX),
          charsMax: whole(500, 200_000).default(PAGE_TEXT_CHARS_MAX),
          /** Hosts, addresses and networks whose pages may be read although they are not public, as of `callbacks.allow`. */
          allow: texts.default([]),
        },
        { error: 'must be a mapping' },
      )
      .prefault({}),
    /** Who can be asked about our reading, for the logs of sites: an address of the web or of mail. */
    contact: text.regex(/^[\x21-\x7e]{1,200}$/, { error: 'must be an address without blanks' }).optional(),
  },
  { error: 'must be a mapping' },
);
