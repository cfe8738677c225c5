import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { prepareBenchFolder } from './bench-folder.ts';
import { runProgram } from './run-program.ts';

/** The embedded engine's package contains the source that its binaries were built from. */
const ENGINE_SOURCE_FOLDER = fileURLToPath(new URL('../../node_modules/node-llama-cpp/llama/', import.meta.url));

const CMAKE_OPTIONS = [
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
 * GCC 12 assumes that the tile configuration is 8 bytes long and drops the stores to the rest of it. The first use of a
 * tile is then an illegal instruction. The published binaries are built by a compiler that keeps the stores. The barrier
 * forces all stores, because it claims to read any memory.
 */
const TILE_CONFIGURATION_PATCH = { file: 'ggml/src/ggml-cpu/amx/mmq.cpp', before: '    _tile_loadconfig(&tc);' };
const MEMORY_BARRIER = '    __asm__ volatile("" : : "r"(&tc) : "memory");\n';

/** Builds llama-server from the engine's own source for this machine (300 MB; about ten minutes on two cores). */
export async function setUpLlamaServer(logProgress: (text: string) => void): Promise<string> {
  const release = readFileSync(join(ENGINE_SOURCE_FOLDER, 'llama.cpp.info.json'), 'utf8');
  const folder = await prepareBenchFolder('llama-server', `${release}${CMAKE_OPTIONS.join(' ')}`, async (at) => {
    logProgress('building llama-server');
    await runProgram('git', ['clone', '--quiet', join(ENGINE_SOURCE_FOLDER, 'gitRelease.bundle'), 'source'], at);
    const file = join(at, 'source', TILE_CONFIGURATION_PATCH.file);
    writeFileSync(
      file,
      readFileSync(file, 'utf8').replace(
        TILE_CONFIGURATION_PATCH.before,
        `${MEMORY_BARRIER}${TILE_CONFIGURATION_PATCH.before}`,
      ),
    );
    await runProgram('cmake', ['-S', 'source', '-B', 'build', ...CMAKE_OPTIONS], at);
    const parallel = ['--target', 'llama-server', '--parallel', String(availableParallelism())];
    await runProgram('nice', ['-n', '19', 'cmake', '--build', 'build', ...parallel], at);
  });
  return join(folder, 'build', 'bin', 'llama-server');
}
