import assert from 'node:assert/strict';
import { deflateSync } from 'node:zlib';
import { createTestDocx, createTestZip } from '../../src/documents/__fixtures__/test-zip.ts';
import { until } from '../until.ts';
import { sendAsAttacker, uploadAsAttacker } from './attacker-request.ts';
import { type AttackTarget, describeAttacks } from './harness.ts';

// Documents that reach their reader. The service reads none of them itself: each one has a process of its own.

const MIB = 1024 * 1024;

/** Time in which a document of another workspace must be read, in ms. The machine may be busy. */
const OTHERS_DOCUMENT_MS_MAX = 45_000;

const repeatTo = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / text.length));

/** Takes minutes to read, within all limits of size: an e-book that shows an empty page millions of times. */
const SLOW_BOOK = createTestZip([
  { name: 'META-INF/container.xml', content: '<rootfile full-path="book.opf"/>' },
  {
    name: 'book.opf',
    content: `<item id="a" href="a.html" media-type="text/html"/>${repeatTo('<itemref idref="a"/>', 100 * MIB)}`,
  },
  { name: 'a.html', content: '' },
]);

const createPdf = (objects: readonly (string | Buffer)[]): Buffer =>
  Buffer.concat([
    Buffer.from('%PDF-1.7\n'),
    ...objects.map((content, index) =>
      Buffer.concat([Buffer.from(`${index + 1} 0 obj\n`), Buffer.from(content), Buffer.from('\nendobj\n')]),
    ),
    Buffer.from('trailer\n<</Root 1 0 R>>\n%%EOF'),
  ]);

/** Creates a stream that was compressed twice, so that 300 bytes become 256 MiB. */
function createDoublyCompressedStream(): Buffer {
  const compressed = deflateSync(deflateSync(Buffer.alloc(256 * MIB, ' ')));
  const dictionary = `<</Filter[/FlateDecode/FlateDecode]/Length ${compressed.length}>>\nstream\n`;
  return Buffer.concat([Buffer.from(dictionary), compressed, Buffer.from('\nendstream')]);
}

const ENTITIES = Array.from({ length: 30 }, (_, n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`).join('');

/** Documents with the reason that the owner gets; undefined: the text is read, and is small. */
const BOMBS: readonly (readonly [name: string, bytes: () => Uint8Array, reason: RegExp | undefined])[] = [
  [
    'text-of-190-mib.docx',
    () => createTestDocx(`<w:p><w:r><w:t>${repeatTo('abc ', 190 * MIB)}`),
    /more than 16777216 bytes of text/,
  ],
  [
    'twenty-thousand-entries.xlsx',
    () => createTestZip(Array.from({ length: 20_001 }, (_, n) => ({ name: `${n}`, content: '' }))),
    /more than 20000 files/,
  ],
  [
    'billion-laughs.docx',
    () => createTestDocx(`<!DOCTYPE a [<!ENTITY e0 "lol">${ENTITIES}]><w:p><w:r><w:t>&e30;</w:t></w:r></w:p>`),
    undefined,
  ],
  [
    'pages-in-a-circle.pdf',
    () => createPdf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[2 0 R 2 0 R]/Count 9000>>']),
    /./,
  ],
  [
    'compressed-twice.pdf',
    () =>
      createPdf([
        '<</Type/Catalog/Pages 2 0 R>>',
        '<</Type/Pages/Kids[3 0 R]/Count 1>>',
        '<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<<>>>>',
        createDoublyCompressedStream(),
      ]),
    /./,
  ],
];

interface FileStatus {
  readonly id: string;
  readonly status: string;
  readonly status_details?: string;
}

const parseFile = (text: string): FileStatus => JSON.parse(text) as FileStatus;

async function upload(target: AttackTarget, name: string, bytes: Uint8Array, key?: string): Promise<FileStatus> {
  const fields = { purpose: 'file-extract' };
  const { status, text } = await uploadAsAttacker(target, { fields, fileName: name, bytes, ...(key && { key }) });
  assert.equal(status, 200, text);
  return parseFile(text);
}

const findFile = async (target: AttackTarget, id: string, key?: string): Promise<FileStatus> =>
  parseFile((await sendAsAttacker(target, { path: `/compatible-mode/v1/files/${id}`, ...(key && { key }) })).text);

const waitForText = (target: AttackTarget, { id }: FileStatus, key?: string): Promise<FileStatus> =>
  until(`the document ${id} is read`, { timeoutMs: OTHERS_DOCUMENT_MS_MAX }, async () => {
    const file = await findFile(target, id, key);
    return file.status === 'uploaded' ? undefined : file;
  });

describeAttacks('attacks with documents', {}, [
  {
    name: 'archives that expand a thousandfold, XML with nested entities, circular PDFs',
    async run(target) {
      await Promise.all(
        BOMBS.map(async ([name, createBytes, reason]) => {
          const file = await waitForText(target, await upload(target, name, createBytes()));
          assert.equal(file.status, reason === undefined ? 'processed' : 'error', JSON.stringify({ name, file }));
          assert.match(file.status_details ?? '', reason ?? /^$/, name);
        }),
      );
    },
  },
  {
    name: '20 documents of 250 KiB that take minutes to read each, before a document of another workspace',
    async run(target) {
      const slow = await Promise.all(
        Array.from({ length: 20 }, (_, index) => upload(target, `slow-${index}.epub`, SLOW_BOOK)),
      );
      const otherKey = await target.createKey('--workspace', 'reader');
      const document = await upload(target, 'a.docx', createTestDocx('<w:p><w:r><w:t>Hi'), otherKey);
      assert.equal((await waitForText(target, document, otherKey)).status, 'processed');
      const states = await Promise.all(slow.map(async ({ id }) => (await findFile(target, id)).status));
      assert.deepEqual([...new Set(states)], ['uploaded'], 'the attack must still run');
    },
  },
]);
