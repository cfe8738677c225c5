import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { benchFolder } from './bench-folder.ts';
import { runProgram } from './run-program.ts';

/** The embedded engine's package carries the very source that its binaries were built from. */
const ENGINE = fileURLToPath(new URL('../../node_modules/node-llama-cpp/llama/', import.meta.url));

const OPTIONS = [
  '-DCMAKE_BUILD_TYPE=Release',
  '-DGGML_NATIVE=ON',
  '-DBUILD_SHARED_LIBS=OFF',
  '-DLLAMA_OPENSSL=OFF',
  '-DLLAMA_BUILD_UI=OFF',
  '-DLLAMA_USE_PREBUILT_UI=OFF',
  '-DLLAMA_BUILD_TESTS=OFF',
  '-DLLAMA_BUILD_EXAMPLES=OFF',
  '-DLLAMA_BUILD_APP=OFF',
];

/**
 * GCC 12 takes the tile configuration for 8 bytes long and drops the stores to the rest of it; the first use of a tile
 * is then an illegal instruction. The published binaries are built by a compiler that keeps them. Everything is stored
 * before what claims to read any memory.
 */
const TILES = { file: 'ggml/src/ggml-cpu/amx/mmq.cpp', before: '    _tile_loadconfig(&tc);' };
const KEPT = '    __asm__ volatile("" : : "r"(&tc) : "memory");\n';

/** `llama-server` of the embedded engine's generation, built for this machine (300 MB; some ten minutes on two cores). */
export async function setUpLlamaServer(note: (text: string) => void): Promise<string> {
  const release = readFileSync(join(ENGINE, 'llama.cpp.info.json'), 'utf8');
  const folder = await benchFolder('llama-server', `${release}${OPTIONS.join(' ')}`, async (at) => {
    note('building llama-server');
    await runProgram('git', ['clone', '--quiet', join(ENGINE, 'gitRelease.bundle'), 'source'], at);
    const file = join(at, 'source', TILES.file);
    writeFileSync(file, readFileSync(file, 'utf8').replace(TILES.before, `${KEPT}${TILES.before}`));
    await runProgram('cmake', ['-S', 'source', '-B', 'build', ...OPTIONS], at);
    const parallel = ['--target', 'llama-server', '--parallel', String(availableParallelism())];
    await runProgram('nice', ['-n', '19', 'cmake', '--build', 'build', ...parallel], at);
  });
  return join(folder, 'build', 'bin', 'llama-server');
}
