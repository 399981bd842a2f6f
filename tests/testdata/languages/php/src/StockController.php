<?php

namespace App\Controller;

use Symfony\Component\Routing\Attribute\Route;

#[Route('/stock', name: 'stock_')]
final class StockController extends AbstractController
{
    #[Route('/{sku}', name: 'show', methods: ['GET'])]
    public function show(string $sku): Response
    {
        return $this->json($this->stock->find($sku));
    }

    #[IsGranted('ROLE_ADMIN')]
    #[Route(path: '/{sku}', name: 'change', methods: ['PUT', 'PATCH'])]
    public function change(string $sku): Response
    {
        return new Response();
    }

    #[Route('')]
    public function list(): Response
    {
        return new Response();
    }
}
