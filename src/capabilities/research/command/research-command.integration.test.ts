import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { ServiceError } from '../../../core/error.ts';
import { getMessageText } from '../../../core/message.ts';
import { createScriptedResearch, REPORT_STEPS } from './__fixtures__/scripted-research.ts';
import { createResearchCommand, type ResearchCommandDeps } from './research-command.ts';

const MARKDOWN = `# Of whales

**Question:** How do whales sing?

**Clarifying question:** Which whales?

**Answer:** No preference.

*1 July 2026 · 12 words · 2 sources · 2 s · svc-deep-research*

Whales sing.[[1]](#source-1)

## The sea

The sea is deep[[2]](#source-2) and wide.\\[\\[7\\]\\]

## Sources

1. <a id="source-1"></a>[Whales \\*sing\\*](<https://www.whales.test/song?a=1\\&lt;=2>)
2. <a id="source-2"></a>notes/sea.md: parley-index:notes/sea.md
`;

const SHOWN = `How do whales sing?

Clarifying question
  Which whales?

Answer
  No preference.

Plan
  First the body, then the song.

1.  whale larynx
    How the sound is made
     [4] Whales *sing*  whales.test
     [5] notes/sea.md  local index
     learned Whales sing. [4]
     learned The sea is deep. [5]

2.  whale song
     and 1 found before

Report
  Of whales  2 words
  The sea  6 words

12 words · 2 sources of 2 pages found · 2 s · 5,100 tokens read, 910 written
`;

describe('parley research', () => {
  let folder = '';
  let opened = 0;
  let output = '';
  let shown = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-research-'));
  });
  afterEach(async () => {
    assert.equal(opened, 0, 'the command has left something open');
    await rm(folder, { recursive: true });
  });

  interface Play {
    readonly research?: ReturnType<typeof createScriptedResearch>;
    readonly ask?: ResearchCommandDeps['askUser'];
    readonly stop?: AbortController;
    readonly terminal?: { readonly columns: number };
    readonly every?: ResearchCommandDeps['startInterval'];
    readonly warnings?: readonly (readonly [message: string, fields?: Readonly<Record<string, unknown>>])[];
  }
  async function run(
    args: readonly string[],
    {
      research = createScriptedResearch(),
      ask,
      stop,
      terminal,
      warnings = [],
      every = () => () => undefined,
    }: Play = {},
  ) {
    output = '';
    shown = '';
    let ms = 0;
    const context = (signal: AbortSignal) => ({
      requestId: 'research_1',
      owner: { workspace: 'default', region: 'cn-beijing', keyId: 'key_1' } as const,
      signal,
      log: { add: () => undefined, warn: () => undefined },
    });
    const command = createResearchCommand({
      open: async (_flags, warn) => {
        opened += 1;
        for (const [message, fields] of warnings) warn(message, fields);
        return { research, createContext: context, close: async () => void (opened -= 1) };
      },
      askUser: ask,
      // Each call advances the clock by a second.
      clock: { now: () => Date.parse('2026-07-01T12:00:00Z'), monotonic: () => (ms += 1_000) },
      startInterval: every,
      stdout: {
        write(text, done) {
          output += text;
          if (done) setImmediate(done);
        },
      },
      stderr: { write: (text) => void (shown += text), ...(terminal && { isTTY: true, rows: 24, ...terminal }) },
      isStyled: false,
      ...(stop && { runUntilStopped: (_message, work) => work(stop.signal) }),
    });
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    await command.parseAsync([...args], { from: 'user' });
  }
  const QUESTION = ['How', 'do', 'whales', 'sing?'];

  it('writes Markdown and HTML, prints their paths and shows the progress', async () => {
    await run([...QUESTION, '--out', folder]);
    const stem = join(folder, 'research-how-do-whales-sing');
    assert.equal(output, `${stem}.md\n${stem}.html\n`);
    assert.equal(await readFile(`${stem}.md`, 'utf8'), MARKDOWN);
    assert.match(await readFile(`${stem}.html`, 'utf8'), /^<!doctype html>[^]*<h1>Of whales<\/h1>[^]*<\/html>\n$/);
    assert.equal(shown, SHOWN);
    assert.deepEqual(await readdir(folder), ['research-how-do-whales-sing.html', 'research-how-do-whales-sing.md']);
  });

  it('sends both steps as a conversation with the requested size and model', async () => {
    const research = createScriptedResearch();
    await run([...QUESTION, '--answer', ' Blue ones. ', '--summary', '--model', 'my-research', '--out', '-'], {
      research,
    });
    assert.deepEqual(
      research.requests.map(({ step, request: { model, reportSize, messages } }) => [
        step,
        model,
        reportSize,
        ...messages.map((message) => `${message.role}: ${getMessageText(message)}`),
      ]),
      ['clarify', 'check', 'run'].map((step) => [
        step,
        'my-research',
        'summary',
        'user: How do whales sing?',
        ...(step === 'clarify' ? [] : ['assistant: Which whales?', 'user: Blue ones.']),
      ]),
    );
  });

  it('prints only Markdown to standard output with --out -', async () => {
    await run([...QUESTION, '--out', '-']);
    assert.match(output, /^# Of whales\n/);
    assert.match(output, /notes\/sea\.md\n$/);
    assert.deepEqual(await readdir(folder), []);
  });

  it('reads the answer from the terminal; an empty one means no preference', async () => {
    for (const [typed, answer] of [
      [' Blue ones. ', 'Blue ones.'],
      ['', 'No preference.'],
    ] as const) {
      const research = createScriptedResearch();
      await run([...QUESTION, '--out', '-'], { research, ask: async () => typed });
      assert.equal(getMessageText(research.requests[2]?.request.messages[2] ?? assert.fail()), answer);
    }
  });

  it('states no preference in the language of the question', async () => {
    const research = createScriptedResearch();
    await run(['鲸鱼为什么唱歌？', '--out', '-'], { research });
    const answer = research.requests.at(-1)?.request.messages.map(getMessageText).at(-1);
    assert.equal(answer, '没有特别的要求。');
  });

  it('writes to the given path, in one format if it has an extension', async () => {
    await run([...QUESTION, '--out', join(folder, 'whales.html')]);
    await run([...QUESTION, '--out', join(folder, 'deep', 'whales')]);
    await run([...QUESTION, '--out', join(folder, 'new/')]);
    assert.deepEqual((await readdir(folder, { recursive: true })).toSorted(), [
      'deep',
      'deep/whales.html',
      'deep/whales.md',
      'new',
      'new/research-how-do-whales-sing.html',
      'new/research-how-do-whales-sing.md',
      'whales.html',
    ]);
  });

  it('overwrites files only with --force and checks that before the research', async () => {
    const file = join(folder, 'whales.md');
    await writeFile(file, 'mine');
    const research = createScriptedResearch();
    const refused = {
      kind: 'conflict',
      message: `${file} already exists. Choose another path with --out, or overwrite the file with --force.`,
    };
    await assert.rejects(run([...QUESTION, '--out', file], { research }), refused);
    await assert.rejects(run([...QUESTION, '--out', join(folder, 'whales')], { research }), refused);
    assert.deepEqual(research.requests, []);
    assert.equal(await readFile(file, 'utf8'), 'mine');
    await run([...QUESTION, '--out', file, '--force']);
    assert.match(await readFile(file, 'utf8'), /^# Of whales/);
  });

  it('uses the next free name if a file was created meanwhile', async () => {
    const beforeStep = (at: number) => (at === 0 ? writeFile(join(folder, 'whales.html'), 'theirs') : undefined);
    await run([...QUESTION, '--out', join(folder, 'whales')], {
      research: createScriptedResearch({ beforeStep }),
    });
    assert.equal(output, `${join(folder, 'whales-2')}.md\n${join(folder, 'whales-2')}.html\n`);
    assert.deepEqual(await readdir(folder), ['whales-2.html', 'whales-2.md', 'whales.html']);
    assert.equal(await readFile(join(folder, 'whales.html'), 'utf8'), 'theirs');
  });

  it('prints the report to standard output if no file can be written', async () => {
    const out = join(folder, 'gone');
    const beforeStep = (at: number) => (at === 0 ? rm(out, { recursive: true }) : undefined);
    const failed = { code: 'ENOENT', syscall: 'open' };
    await assert.rejects(
      run([...QUESTION, '--out', `${out}/`], { research: createScriptedResearch({ beforeStep }) }),
      failed,
    );
    assert.equal(output, MARKDOWN);
  });

  it('writes nothing when stopped during the report', async () => {
    const stop = new AbortController();
    const reason = new ServiceError('cancelled', 'Stopped. Nothing was written.');
    const beforeStep = (at: number) => {
      if (at < 4) return;
      stop.abort(reason);
      throw new Error('the engine was called off');
    };
    await assert.rejects(
      run([...QUESTION, '--out', folder], { research: createScriptedResearch({ beforeStep }), stop }),
      reason,
    );
    assert.deepEqual([output, await readdir(folder)], ['', []]);
  });

  it('writes nothing after an incomplete or empty run', async () => {
    const failed = {
      kind: 'engine-failed',
      message: 'The research ended without a complete report. No file was written. Try again.',
    };
    for (const steps of [REPORT_STEPS.slice(0, 5), [[{ type: 'end', reason: 'stop' }]] as const])
      await assert.rejects(
        run([...QUESTION, '--out', folder], { research: createScriptedResearch({ steps }) }),
        failed,
      );
    assert.deepEqual(await readdir(folder), []);
  });

  it('notes that a limit ended the research', async () => {
    const steps = [...REPORT_STEPS.slice(0, -1), [{ type: 'end', reason: 'length' }] as const];
    await run([...QUESTION, '--out', folder], { research: createScriptedResearch({ steps }) });
    const note =
      'A limit on searches, pages, tokens or time ended the research early. The report is shorter than planned.';
    assert.ok(shown.endsWith(`${note}\n`));
    for (const name of await readdir(folder))
      assert.ok((await readFile(join(folder, name), 'utf8')).includes(note), name);
  });

  it('shows each problem that does not stop the run once', async () => {
    const failed = [
      'a search provider failed',
      { provider: 'wiki', kind: 'timeout', reason: 'It\u001b[2J slept.' },
    ] as const;
    await run([...QUESTION, '--out', '-'], { warnings: [failed, failed, ['only that']] });
    assert.match(
      shown,
      /^How.*\n {5}! a search provider failed: wiki: It\[2J slept\.\n {5}! only that\n\nClarifying question/,
    );
  });

  it('notes that a report has no sources', async () => {
    const steps = [[{ type: 'report', text: '*Nothing.*' }], [{ type: 'end', reason: 'stop' }]] as const;
    await run([...QUESTION, '--out', '-'], { research: createScriptedResearch({ steps }) });
    assert.match(
      shown,
      /\nThe report has no sources: the research found nothing to report\..*parley index search.*\n$/,
    );
    await run([...QUESTION, '--out', '-']);
    assert.doesNotMatch(shown, /Nothing was found/);
  });

  it('rejects an empty question', async () => {
    await assert.rejects(run([' ']), { kind: 'invalid-request', message: 'The question must not be empty.' });
    await assert.rejects(run([]), { code: 'commander.missingArgument' });
  });

  it('draws a status line with the time on a terminal and removes it at the end', async () => {
    await mkdir(join(folder, 'out'));
    let tick = (): void => undefined;
    let isOver = false;
    const every: ResearchCommandDeps['startInterval'] = (ms, draw) => {
      assert.equal(ms, 1_000);
      tick = draw;
      return () => void (isOver = true);
    };
    const research = createScriptedResearch({ beforeStep: (at) => (at === 2 ? tick() : undefined) });
    await run([...QUESTION, '--out', join(folder, 'out')], { research, terminal: { columns: 60 }, every });
    const status = (seconds: number) => `\nSearching · 2 pages found · 2,200 tokens · ${seconds} s\n`;
    assert.ok(shown.includes(`${status(8)}\u001b[2A\u001b[J\u001b[J${status(9)}\u001b[2A\u001b[J\n2.  whale song\n`));
    assert.ok(isOver);
    assert.ok(shown.endsWith('\u001b[J'));
  });
});
