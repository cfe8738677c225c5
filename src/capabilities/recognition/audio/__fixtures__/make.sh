#!/bin/sh
# Creates the recordings of this folder: sh make.sh. Needs ffmpeg (with libmp3lame, libvorbis, libopus, libx264) and espeak-ng.
set -eu
cd "$(dirname "$0")"
run() { ffmpeg -y -loglevel error -bitexact "$@" -map_metadata -1; }
espeak-ng -v en -s 170 -w voice.tmp.wav 'Good morning, Kubernetes.'
ffmpeg -y -loglevel error -i voice.tmp.wav -ss 0.1 -t 0.62 -ar 16000 -ac 1 -c:a pcm_s16le speech.tmp.wav
# Two different channels with beats, which cause short windows, mid/side stereo and intensity stereo.
ffmpeg -y -loglevel error -i voice.tmp.wav -f lavfi -i "aevalsrc='0.3*sin(2*PI*440*t)*exp(-mod(t,0.11)*60)|0.3*sin(2*PI*660*t)*exp(-mod(t+0.05,0.13)*60)':s=32000:d=0.17" \
  -filter_complex '[0]atrim=0.15:0.32,asetpts=PTS-STARTPTS,aresample=32000,pan=stereo|c0=c0|c1=0.6*c0[a];[a][1]amix=inputs=2:duration=shortest' -c:a pcm_s16le beats.tmp.wav

run -i speech.tmp.wav -c:a flac speech.flac
run -i speech.tmp.wav -ar 8000 -c:a pcm_alaw alaw.wav
run -i speech.tmp.wav -ar 8000 -c:a pcm_mulaw mulaw.wav
run -i speech.tmp.wav -ar 8000 -c:a pcm_u8 u8.wav
run -i speech.tmp.wav -t 0.3 -c:a pcm_s24le s24.wav
run -i speech.tmp.wav -t 0.25 -c:a pcm_s32le s32.wav
run -i speech.tmp.wav -t 0.25 -c:a pcm_f32le f32.wav
run -i beats.tmp.wav -t 0.15 -c:a flac -sample_fmt s32 -bits_per_raw_sample 24 two-channels.flac
run -i speech.tmp.wav -c:a libmp3lame -b:a 32k speech.mp3
run -i beats.tmp.wav -c:a libmp3lame -b:a 96k beats.mp3
run -i speech.tmp.wav -c:a libvorbis -q:a 3 vorbis.ogg
run -i beats.tmp.wav -c:a libvorbis -q:a 4 beats.ogg
run -i speech.tmp.wav -c:a libopus -b:a 24k speech.opus
run -i speech.tmp.wav -c:a aac -b:a 32k -aac_pns 0 speech.aac
run -i beats.tmp.wav -c:a aac -b:a 96k -aac_pns 0 -aac_ms 1 -aac_is 0 beats.aac
run -i speech.tmp.wav -c:a aac -b:a 24k noise.aac
run -i speech.tmp.wav -c:a aac -b:a 32k -aac_pns 0 index-last.m4a
run -i index-last.m4a -c:a copy -movflags +faststart index-first.m4a
run -i index-last.m4a -c:a copy -movflags empty_moov+default_base_moof -frag_duration 200000 fragments.mp4
run -f lavfi -i testsrc=s=48x32:d=0.62:r=10 -i index-last.m4a -c:a copy -c:v libx264 -x264-params keyint=8 -pix_fmt yuv420p film.mp4
# References: the output of the ffmpeg decoders, losslessly encoded.
for name in speech.mp3 beats.mp3 vorbis.ogg beats.ogg speech.aac beats.aac noise.aac; do run -i "$name" -sample_fmt s16 -c:a flac -compression_level 12 "$name.flac"; done
rm -f ./*.tmp.wav
