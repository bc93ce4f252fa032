#!/bin/bash
# SLURM: trees on four machines, one rank each. After a time limit or a lost machine submit it again: it resumes.
# Usage: sbatch examples/slurm.sh train.parquet validation.parquet model.luce, in a folder that all machines share.
#SBATCH --job-name=luce
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --requeue

set -euo pipefail
first=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

# PyTorch authenticates nothing: the machines should reach each other by a private network only.
srun --kill-on-bad-exit=1 torchrun \
    --nnodes "$SLURM_NNODES" --nproc-per-node 1 --max-restarts 3 \
    --rdzv-backend c10d --rdzv-id "$SLURM_JOB_ID" --rdzv-endpoint "$first:29500" \
    -m luce train "$1" --validation "$2" --model trees --threads "$SLURM_CPUS_PER_TASK" --resume --output "$3"
