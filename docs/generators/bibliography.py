"""The works that the records of objectives cite, in full."""

import re

WORKS = {
    "Ai et al. 2018": "Q. Ai, K. Bi, J. Guo and W. B. Croft. Learning a deep listwise context model for ranking "
    "refinement. SIGIR 2018.",
    "Bruch et al. 2019": "S. Bruch, X. Wang, M. Bendersky and M. Najork. An analysis of the softmax cross entropy loss "
    "for learning-to-rank with binary relevance. ICTIR 2019.",
    "Bruch et al. 2020": "S. Bruch, S. Han, M. Bendersky and M. Najork. A stochastic treatment of learning to rank "
    "scoring functions. WSDM 2020.",
    "Bruch, Zoghi, Bendersky and Najork 2019": "S. Bruch, M. Zoghi, M. Bendersky and M. Najork. Revisiting approximate "
    "metric optimization in the age of deep neural networks. SIGIR 2019.",
    "Burges 2010": "C. J. C. Burges. From RankNet to LambdaRank to LambdaMART: an overview. Microsoft Research, "
    "MSR-TR-2010-82.",
    "Burges et al. 2005": "C. Burges, T. Shaked, E. Renshaw, A. Lazier, M. Deeds, N. Hamilton and G. Hullender. "
    "Learning to rank using gradient descent. ICML 2005.",
    "Burges et al. 2006": "C. J. C. Burges, R. Ragno and Q. V. Le. Learning to rank with nonsmooth cost functions. "
    "NIPS 2006.",
    "Cao et al. 2007": "Z. Cao, T. Qin, T.-Y. Liu, M.-F. Tsai and H. Li. Learning to rank: from pairwise approach to "
    "listwise approach. ICML 2007.",
    "Davidson 1970": "R. R. Davidson. On extending the Bradley-Terry model to accommodate ties in paired comparison "
    "experiments. Journal of the American Statistical Association 65, 1970.",
    "Joachims 2002": "T. Joachims. Optimizing search engines using clickthrough data. KDD 2002.",
    "Lan et al. 2014": "Y. Lan, Y. Zhu, J. Guo, S. Niu and X. Cheng. Position-aware ListMLE: a sequential learning "
    "process for ranking. UAI 2014.",
    "Li et al. 2007": "P. Li, C. J. C. Burges and Q. Wu. McRank: learning to rank using multiple classification and "
    "gradient boosting. NIPS 2007.",
    "Ma et al. 2020": "J. Ma, X. Yi, W. Tang, Z. Zhao, L. Hong, E. H. Chi and Q. Mei. Learning-to-rank with "
    "partitioned preference: fast estimation for the Plackett-Luce model. 2020.",
    "Oosterhuis 2021": "H. Oosterhuis. Computationally efficient optimization of Plackett-Luce ranking models for "
    "relevance and fairness. SIGIR 2021.",
    "Oosterhuis 2022": "H. Oosterhuis. Learning-to-rank at the speed of sampling: Plackett-Luce gradient estimation "
    "with minimal computational complexity. SIGIR 2022.",
    "Pasumarthi et al. 2019": "R. K. Pasumarthi et al. TF-Ranking: scalable TensorFlow library for learning-to-rank. "
    "KDD 2019.",
    "Qin et al. 2008": "T. Qin, X.-D. Zhang, M.-F. Tsai, D.-S. Wang, T.-Y. Liu and H. Li. Query-level loss functions "
    "for information retrieval. Information Processing & Management 44, 2008.",
    "Qin, Liu and Li 2010": "T. Qin, T.-Y. Liu and H. Li. A general approximation framework for direct optimization of "
    "information retrieval measures. Information Retrieval 13, 2010.",
    "Rao and Kupper 1967": "P. V. Rao and L. L. Kupper. Ties in paired-comparison experiments: a generalization of the "
    "Bradley-Terry model. Journal of the American Statistical Association 62, 1967.",
    "Ravikumar et al. 2011": "P. Ravikumar, A. Tewari and E. Yang. On NDCG consistency of listwise ranking methods. "
    "AISTATS 2011.",
    "Singh and Joachims 2018": "A. Singh and T. Joachims. Fairness of exposure in rankings. KDD 2018.",
    "Singh and Joachims 2019": "A. Singh and T. Joachims. Policy learning for fairness in ranking. NeurIPS 2019.",
    "Tran, Phung and Venkatesh 2011": "T. T. Tran, D. Q. Phung and S. Venkatesh. Probabilistic models over ordered "
    "partitions with application in learning to rank. 2011.",
    "Wang et al. 2018": "X. Wang, C. Li, N. Golbandi, M. Bendersky and M. Najork. The LambdaLoss framework for ranking "
    "metric optimization. CIKM 2018.",
    "Williams 1992": "R. J. Williams. Simple statistical gradient-following algorithms for connectionist reinforcement "
    "learning. Machine Learning 8, 1992.",
    "Xia et al. 2008": "F. Xia, T.-Y. Liu, J. Wang, W. Zhang and H. Li. Listwise approach to learning to rank: theory "
    "and algorithm. ICML 2008.",
    "Xia, Zhai and Wang 2019": "T. Xia, S. Zhai and S. Wang. Plackett-Luce model for learning-to-rank task. 2019.",
}
CITED = re.compile(r"[A-Z][a-z]+(?:, [A-Z][a-z]+)*(?: and [A-Z][a-z]+| et al\.)? (?:19|20)\d\d")


def works_cited(paper: str) -> list[str]:
    """The works that a record names, in full.

    >>> works_cited("Joachims 2002, Section 4; this page")
    ['T. Joachims. Optimizing search engines using clickthrough data. KDD 2002.']
    """
    return [WORKS[name] for name in CITED.findall(paper)]
