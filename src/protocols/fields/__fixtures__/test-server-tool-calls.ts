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

/** A server tool call and its result. */
export interface ServerToolCallSample {
  readonly id: string;
  readonly call: ServerCall;
  readonly result: ServerCallResult;
}

const words = fc.string({ unit: 'grapheme', maxLength: 8 });

/** Sources with equal indexes are equal, as within one answer. */
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
    isStored: fc.boolean(),
  })
  .map(({ isStored, ...rest }) => ({
    ...rest,
    bytes: new Uint8Array(),
    ...(isStored ? { stored: { fileId: 'file-1', url: 'https://a.example/file-1' } } : {}),
  }));

const search = fc.tuple(words, fc.array(source, { maxLength: 3 }), failure).map(([query, sources, failed]) => ({
  call: { type: 'search' as const, query },
  result: { type: 'search' as const, sources, findings: [{ domain: 'stock', text: '1' }], ...failed },
}));

const page = fc.tuple(fc.option(source), failure).map(([pageSource, failed]) => ({
  call: { type: 'page' as const, url: 'https://a.example/', goal: 'To know.' },
  result: { type: 'page' as const, ...(pageSource ? { source: pageSource } : {}), ...failed },
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
        isTruncated: false,
        ...(error ? { error: { type: error, message: 'Ended.' } } : {}),
      },
      ...failed,
    },
  }));

export const serverToolCallSamples: fc.Arbitrary<ServerToolCallSample> = fc
  .tuple(fc.oneof(search, page, code), fc.stringMatching(/^call_[a-z0-9]{4}$/))
  .map(([callAndResult, id]) => ({ id, ...callAndResult }));

interface BlockPosition {
  readonly choice: number;
  readonly index: number;
}

export const createServerToolEvents = ({ id, call, result }: ServerToolCallSample, at: BlockPosition): GenerationEvent[] => [
  { type: 'server-call', ...at, id, call },
  { type: 'server-result', ...at, id, result },
];

/** Positions of citations: the index of a text piece, and the offset in it. */
export const citationPositions = fc.array(
  fc.tuple(fc.nat(3), fc.nat(5), source, words).map(([piece, offset, citedSource, citedText]) => ({
    piece,
    offset,
    source: citedSource,
    citedText,
  })),
  { maxLength: 3 },
);

type CitationPositions = typeof citationPositions extends fc.Arbitrary<infer Positions> ? Positions : never;

/** Creates delta events for pieces of a text, each with the citations of the sentences that it completes. */
export function createCitedDeltas(pieces: readonly string[], positions: CitationPositions, at: BlockPosition): GenerationEvent[] {
  let before = 0;
  return pieces.map((text, piece): GenerationEvent => {
    const length = Array.from(text).length;
    const start = before;
    before += length;
    const citations = positions
      .filter((position) => position.piece === piece && position.offset < length)
      .map(({ offset, source: citedSource, citedText }): Citation => ({ source: citedSource, citedText, start, end: start + offset + 1 }));
    return { type: 'block-delta', ...at, text, ...(citations.length > 0 ? { citations } : {}) };
  });
}
