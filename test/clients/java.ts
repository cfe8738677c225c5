import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, delimiter } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Program } from './program-cases.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Folder into which `.ci/run` fetches the jars. */
const JARS = `${ROOT}.cache/java/`;

/** Folder of the compiled test programs, with a subfolder for each version of the sources. */
const CLASSES = `${ROOT}.cache/java-classes/`;

/** The sources of all test programs. They are compiled together, so the names of their classes are distinct. */
const SOURCES = '{test/clients,src/capabilities/*/test/clients}/java/**/*.java';

/** The first version that runs a source file directly and knows the language features of the test programs. */
const JAVA_MIN = 11;

/** The programs run for seconds: the optimizing compiler and a parallel garbage collector would cost more than they save. */
const START_OPTIONS = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

/** The logger of the SDK would write to the output that is parsed. */
const RUN_OPTIONS = [...START_OPTIONS, '-Dorg.slf4j.simpleLogger.defaultLogLevel=off'];

/**
 * Creates the command that runs a test program of ./java, or of another folder by the URL of its source, with the jars
 * of jars.sha256. Uses PARLEY_JAVA, else the system's Java. Compiles all test programs first, unless their classes are
 * in .cache/java-classes.
 * @throws when the compiler refuses a source, with its messages.
 */
export function createJavaProgram(file: string | URL): Program {
  const { command, version, skipReason } = findJava();
  if (skipReason !== undefined) return { command, args: [], skipReason };
  const name = basename(typeof file === 'string' ? file : fileURLToPath(file), '.java');
  const classPath = [compilePrograms(command, version), `${JARS}*`].join(delimiter);
  return { command, args: [...RUN_OPTIONS, '-cp', classPath, name] };
}

/** Creates the command that runs a source file without compiling it first, as users run the examples. */
export function createJavaSourceProgram(path: string): Program {
  const { command, skipReason } = findJava();
  return { command, args: [...RUN_OPTIONS, '-cp', `${JARS}*`, path], skipReason };
}

/** Compiles all test programs, or finds their classes. @returns the folder of the classes. */
function compilePrograms(command: string, version: string): string {
  const sources = globSync(SOURCES, { cwd: ROOT })
    .toSorted()
    .map((path) => `${ROOT}${path}`);
  const hash = createHash('sha256')
    .update(version)
    .update(readFileSync(`${ROOT}test/clients/java/jars.sha256`));
  for (const path of sources) hash.update(path).update(readFileSync(path));
  const classes = `${CLASSES}${hash.digest('hex')}`;
  if (existsSync(classes)) return classes;

  // Several test files may compile at once: each writes a folder of its own, and the first to finish gives its name.
  mkdirSync(CLASSES, { recursive: true });
  const folder = mkdtempSync(`${CLASSES}compiling-`);
  try {
    // Only launchers expand `*` in a class path.
    const classPath = globSync(`${JARS}*.jar`).join(delimiter);
    const options = ['-proc:none', '-encoding', 'UTF-8', '-cp', classPath, '-d', folder];
    const args = [...START_OPTIONS, '-m', 'jdk.compiler/com.sun.tools.javac.Main', ...options, ...sources];
    const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`the Java test programs do not compile:\n${error?.message ?? stderr}`);
    if (!existsSync(classes)) renameSync(folder, classes);
  } catch (error) {
    if (!existsSync(classes)) throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return classes;
}

interface JavaInstallation {
  readonly command: string;
  /** Version of its compiler; empty without one. */
  readonly version: string;
  readonly skipReason: string | undefined;
}

function findJava(): JavaInstallation {
  const command = process.env.PARLEY_JAVA ?? 'java';
  // A Java runtime without the compiler can neither compile nor run source files.
  const { stdout } = spawnSync(command, ['--list-modules'], { encoding: 'utf8' });
  const version = /^jdk\.compiler@(\S+)/m.exec(stdout ?? '')?.[1] ?? '';
  const hasJdk = Number.parseInt(version || '0', 10) >= JAVA_MIN;
  const jdkSkipReason = `no JDK ${JAVA_MIN} or newer (apt-get install default-jdk-headless)`;
  return { command, version, skipReason: hasJdk ? getJarsSkipReason() : jdkSkipReason };
}

function getJarsSkipReason(): string | undefined {
  const names = readFileSync(new URL('java/jars.sha256', import.meta.url), 'utf8').match(/\S+\.jar/g) ?? [];
  const missing = names.find((name) => !existsSync(`${JARS}${name}`));
  return missing === undefined ? undefined : `no .cache/java/${missing} (.ci/run fetches it)`;
}
