import fc from 'fast-check';
import type { GenerationEvent } from '../../../core/event.ts';
import type {
  Citation,
  CodeFile,
  ServerCall,
  ServerCallFailure,
  ServerCallResult,
  Source,
} from '../../../core/server-tools.ts';

/** Work on our side as it may come: what was asked for, and what came of it. */
export interface ServerWork {
  readonly id: string;
  readonly call: ServerCall;
  readonly result: ServerCallResult;
}

const words = fc.string({ unit: 'grapheme', maxLength: 8 });

/** In one answer an index stands for one source. */
const source: fc.Arbitrary<Source> = fc.integer({ min: 1, max: 9 }).map((index) => ({
  index,
  title: index % 4 === 0 ? '' : `Über \u{1F600} "${index}"`,
  url: `https://a.example/${index}?q=1&r=2`,
  siteName: index % 2 === 0 ? '' : 'Example',
  icon: index % 3 === 0 ? '' : 'https://a.example/icon.png',
  passage: `Passage\u2028${index}`,
  ...(index % 2 === 0 ? { publishedAt: Date.UTC(2026, 3, index) } : {}),
}));

const failure: fc.Arbitrary<{ readonly failure?: ServerCallFailure }> = fc.oneof(
  { arbitrary: fc.constant({}), weight: 3 },
  fc
    .constantFrom<ServerCallFailure['code'][]>(
      'unavailable',
      'too-many-uses',
      'invalid-input',
      'not-allowed',
      'not-found',
      'too-long',
    )
    .map((code) => ({ failure: { code, message: 'Why.' } })),
);

const file: fc.Arbitrary<CodeFile> = fc
  .record({
    name: fc.constantFrom('plot.png', 'rows.csv'),
    mediaType: fc.constantFrom('image/png', 'text/csv'),
    isKept: fc.boolean(),
  })
  .map(({ isKept, ...rest }) => ({
    ...rest,
    bytes: new Uint8Array(),
    ...(isKept ? { kept: { fileId: 'file-1', url: 'https://a.example/file-1' } } : {}),
  }));

const search = fc.tuple(words, fc.array(source, { maxLength: 3 }), failure).map(([query, sources, failed]) => ({
  call: { type: 'search' as const, query },
  result: { type: 'search' as const, sources, findings: [{ domain: 'stock', text: '1' }], ...failed },
}));

const page = fc.tuple(fc.option(source), failure).map(([found, failed]) => ({
  call: { type: 'page' as const, url: 'https://a.example/', goal: 'To know.' },
  result: { type: 'page' as const, ...(found ? { source: found } : {}), ...failed },
}));

const code = fc
  .tuple(
    words,
    fc.array(file, { maxLength: 2 }),
    fc.option(fc.constantFrom('exception' as const, 'time' as const, 'memory' as const, 'lost' as const)),
    failure,
  )
  .map(([text, files, error, failed]) => ({
    call: { type: 'code' as const, code: text, containerId: 'cntr_1' },
    result: {
      type: 'code' as const,
      output: {
        stdout: text,
        stderr: '',
        files,
        isCut: false,
        ...(error ? { error: { type: error, message: 'Ended.' } } : {}),
      },
      ...failed,
    },
  }));

export const serverWork: fc.Arbitrary<ServerWork> = fc
  .tuple(fc.oneof(search, page, code), fc.stringMatching(/^call_[a-z0-9]{4}$/))
  .map(([work, id]) => ({ id, ...work }));

interface At {
  readonly choice: number;
  readonly index: number;
}

export const workEvents = ({ id, call, result }: ServerWork, at: At): GenerationEvent[] => [
  { type: 'server-call', ...at, id, call },
  { type: 'server-result', ...at, id, result },
];

/** Which piece of a text cites, and how far from its beginning. */
export const citedPlaces = fc.array(
  fc.tuple(fc.nat(3), fc.nat(5), source, words).map(([piece, offset, found, cited]) => ({
    piece,
    offset,
    source: found,
    cited,
  })),
  { maxLength: 3 },
);

type CitedPlaces = typeof citedPlaces extends fc.Arbitrary<infer Places> ? Places : never;

/** Pieces of a text, each with the citations of the sentences that it completes. */
export function citedDeltas(pieces: readonly string[], places: CitedPlaces, at: At): GenerationEvent[] {
  let before = 0;
  return pieces.map((text, piece): GenerationEvent => {
    const length = Array.from(text).length;
    const begin = before;
    before += length;
    const citations = places
      .filter((place) => place.piece === piece && place.offset < length)
      .map(({ offset, source: found, cited }): Citation => ({ source: found, cited, start: begin, end: begin + offset + 1 }));
    return { type: 'block-delta', ...at, text, ...(citations.length > 0 ? { citations } : {}) };
  });
}
