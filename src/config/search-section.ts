import { z } from 'zod';
import { PAGE_BYTES_MAX, PAGE_TEXT_CHARS_MAX } from '../core/limits.ts';
import { createListSchema, createSection, text, wholeNumber } from './fields.ts';

const texts = createListSchema(text);

const httpUrl = text.refine(
  (value) => {
    const url = URL.parse(value);
    return (
      url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === ''
    );
  },
  { error: 'must be a URL that starts with http:// or https://, without user, password and query' },
);

const environmentVariable = text.regex(/^[A-Za-z_]\w*$/, {
  error: 'must be the name of an environment variable, not a key',
});

/** Fields of all providers on the network. */
const networkProviderFields = {
  /** Name in the log. Default: the type, with a number if several have the same type. */
  name: text.optional(),
  /** Such as `weather`. The provider is used only for requests with domain search, and its texts are kept separate. */
  domain: text.regex(/^[a-z][a-z0-9_-]{0,31}$/, { error: 'must be a word of lower-case letters' }).optional(),
};

const language = text
  .regex(/^[A-Za-z]{2,3}(?:-[A-Za-z]{2,4})?$/, { error: 'must be a language such as en' })
  .optional();

const provider = z.discriminatedUnion(
  'type',
  [
    /** The local index of documents. */
    z.strictObject({ type: z.literal('index') }),
    z.strictObject({
      type: z.literal('searxng'),
      url: httpUrl,
      ...networkProviderFields,
      /** Environment variable with the key of a proxy in front of the instance. */
      apiKeyEnv: environmentVariable.optional(),
      engines: texts.optional(),
      categories: texts.optional(),
      language,
    }),
    /** `url`: the folder of `api.php`, such as https://wiki.example.com/w. */
    z.strictObject({ type: z.literal('mediawiki'), url: httpUrl, ...networkProviderFields }),
    z.strictObject({
      type: z.literal('kiwix'),
      url: httpUrl,
      ...networkProviderFields,
      /** Names of books. Default: all, or those in `language`, which has three letters. */
      books: texts.optional(),
      language,
    }),
    z.strictObject({
      type: z.literal('tavily'),
      url: httpUrl.default('https://api.tavily.com'),
      ...networkProviderFields,
      apiKeyEnv: environmentVariable,
    }),
    z.strictObject({
      type: z.literal('brave'),
      url: httpUrl.default('https://api.search.brave.com'),
      ...networkProviderFields,
      apiKeyEnv: environmentVariable,
      country: text.regex(/^[A-Z]{2}$/, { error: 'must be a country such as DE' }).optional(),
      language,
    }),
  ],
  { error: 'must have a type: index, searxng, mediawiki, kiwix, tavily or brave' },
);

/** Search tools of models: providers, and limits of reading pages. */
export const searchSection = createSection({
  /** In the order of preference for searches that need one provider. */
  providers: z
    .array(provider, { error: 'must be a list' })
    .max(32, { error: 'must not be more than 32' })
    .default([{ type: 'index' }]),
  pages: createSection({
    bytesMax: wholeNumber(1_024, 64 * 1024 * 1024).default(PAGE_BYTES_MAX),
    charsMax: wholeNumber(500, 200_000).default(PAGE_TEXT_CHARS_MAX),
    /** Non-public hosts, addresses and networks whose pages may be read; notation as in `callbacks.allow`. */
    allow: texts.default([]),
  }),
  /** Contact for the operators of visited sites, sent in the User-Agent: a URL or an e-mail address. */
  contact: text.regex(/^[\x21-\x7e]{1,200}$/, { error: 'must be an address without spaces' }).optional(),
});
