# SPDX-License-Identifier: Apache-2.0
"""Every C program in the README and docs/ compiles without warnings, links and runs. Every YAML block is a valid config.

A fragment of C in the README must be part of one of these programs."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(__file__).resolve().parents[2]
library = pathlib.Path(sys.argv[1]).resolve()
compiler = sys.argv[2:] or ['cc']

CHECK_YAML = r'''
#include <mdist/mdist.h>
#include <stdio.h>
int main(int argc, char **argv) {
    mdist_config_t *config = NULL;
    mdist_error_t *error = NULL;
    mdist_status_t status = mdist_config_create(&config, &error);
    for (int i = 1; i < argc && status == MDIST_OK; ++i) status = mdist_config_load(config, argv[i], &error);
    if (status != MDIST_OK) fprintf(stderr, "%s\n", mdist_error_message(error));
    return status != MDIST_OK;
}
'''


def blocks(language):
    for page in [root / 'README.md', *sorted((root / 'docs').rglob('*.md'))]:
        for match in re.finditer(r'^```' + language + r'\n(.*?)^```', page.read_text(), re.S | re.M):
            yield page.name, match.group(1)


def build(source, folder, name):
    path = folder / (name + '.c')
    path.write_text(source)
    program = folder / name
    subprocess.run([*compiler, '-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror', '-I', root / 'include', path, library,
                    '-Wl,-rpath,' + str(library.parent), '-o', program], check=True)
    return program


def main():
    programs = [source for _, source in blocks('c') if 'int main(' in source]
    for page, source in blocks('c'):
        assert page != 'README.md' or any(source in program for program in programs), f'no program has this code:\n{source}'
    environment = {**os.environ, 'MDIST_DEVICES': 'cpu*3'}
    count = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for source in programs:
            subprocess.run([build(source, folder, f'program{count}')], env=environment, check=True, timeout=60)
            count += 1
        checker = build(CHECK_YAML, folder, 'check_yaml')
        for page, source in blocks('yaml'):
            print('loading a configuration of', page)
            file = folder / f'config{count}.yaml'
            file.write_text(source)
            subprocess.run([checker, file], check=True, timeout=60)
            count += 1
    assert count >= 2, 'found no snippets: is the search for them broken?'


main()
